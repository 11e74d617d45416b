"""Checks, moves and snapshots of a warehouse."""
