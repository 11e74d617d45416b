"""Backups of a data folder, while it is in use, and their way back."""
