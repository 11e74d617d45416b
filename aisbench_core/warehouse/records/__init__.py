"""Runs and what belongs to them, as they are stored and read back."""
