"""A leaderboard as a folder of files: pages that open without a server, and Parquet."""
