"""Where the warehouse lies: a DuckDB file or a team's lake, its schema, who may write, and how it is kept sound."""
