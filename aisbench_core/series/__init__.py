"""Series: one spec on several node counts, several times, launched as one thing and kept within a budget."""
