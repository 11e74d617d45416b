"""How far a training is, from readings of its log. Pure functions, and the points as a file."""
