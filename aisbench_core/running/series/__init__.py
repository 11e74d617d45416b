"""Series: one spec on several node counts, repeated, launched together and kept within a budget."""
