"""`aisbench series`: repeats of one spec on several node counts, or a search, launched and compared together."""
