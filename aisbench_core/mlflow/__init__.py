"""MLflow stores in SQLite: reading results from them, and exporting runs to them."""
