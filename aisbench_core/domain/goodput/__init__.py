"""What a run's wall time was spent on: training that counts, and time lost, by cause."""
