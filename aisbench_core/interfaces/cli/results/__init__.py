"""Commands about results: leaderboard, comparison, exports, imports and validity."""
