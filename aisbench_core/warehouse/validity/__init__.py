"""Whether stored results and series are valid, by a ruleset."""
