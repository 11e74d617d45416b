"""Leaderboard, comparison, history, scaling and the other questions that pages and commands ask."""
