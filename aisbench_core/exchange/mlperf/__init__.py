"""Runs as MLPerf's training logs."""
