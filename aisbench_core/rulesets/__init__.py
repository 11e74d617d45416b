"""What makes a result valid, as documents: rules with levels per division, thresholds, and sources."""
