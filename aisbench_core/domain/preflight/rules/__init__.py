"""Preflight rules by subject."""
