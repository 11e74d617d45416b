"""Rules over values: what may be launched and by whom, and what logs, results and numbers mean."""
