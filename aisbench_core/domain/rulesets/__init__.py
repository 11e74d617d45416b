"""Rulesets: what makes a result valid, as documents with levels per division, thresholds and sources."""
