"""Where the warehouse's tables are: in one DuckDB file, or in a team's DuckLake."""
