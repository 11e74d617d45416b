"""Results of runs that were not made here: logs, result folders and tables, read into values; nothing is stored."""
