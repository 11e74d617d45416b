"""MLflow: reading results from its stores in SQLite, and exporting runs to its tracking servers."""
