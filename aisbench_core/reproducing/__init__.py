"""Runs that are made after other runs."""
