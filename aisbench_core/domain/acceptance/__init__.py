"""Acceptance of pools: suites, the rule that decides on speed, and its risks. Pure functions of values and files."""
