"""Imports results from elsewhere as runs: preview, the user's answers, storing each result once."""
