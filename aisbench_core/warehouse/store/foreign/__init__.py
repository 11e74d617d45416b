"""Reads warehouse files that somebody else made: their rows, and nothing that they say about themselves."""
