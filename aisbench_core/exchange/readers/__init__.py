"""Parses results of runs from elsewhere: logs, result folders, tables and MLflow stores."""
