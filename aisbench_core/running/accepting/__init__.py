"""Acceptances: suites planned with what the warehouse knows, launched as series and decided."""
