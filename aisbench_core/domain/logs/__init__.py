"""Logs of runs, read where they lie: views, search and first errors, each in bounded memory."""
