"""Commands about results: leaderboard, comparison, regression, import, export and the warehouse itself."""
