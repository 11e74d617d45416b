"""The results warehouse: records runs in DuckDB and answers leaderboard, comparison, scaling and export."""
