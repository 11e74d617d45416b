"""Whether running jobs go on: signs of life, stalls, and cards that are slower than the others. Pure functions."""
