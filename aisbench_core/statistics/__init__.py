"""What the numbers of repeated runs can say: summaries, tests, power and steps. Pure functions of numbers."""
