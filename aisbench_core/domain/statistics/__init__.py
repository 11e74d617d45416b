"""Statistics of repeated runs: summaries, tests, power and change points. Pure functions of numbers."""
