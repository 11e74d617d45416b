"""Commands about series: repeats and node counts of one spec."""
