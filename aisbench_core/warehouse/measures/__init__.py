"""What follows from the numbers of runs: fingerprints, throughput, changes. Pure functions."""
