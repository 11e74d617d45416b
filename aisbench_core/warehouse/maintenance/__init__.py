"""Checks, merging and snapshots of a warehouse."""
