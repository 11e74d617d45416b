"""MLflow's store in SQLite: read where results come from it, and written for those who work with MLflow."""
