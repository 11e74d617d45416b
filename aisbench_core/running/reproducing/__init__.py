"""Clones and reproductions of runs."""
