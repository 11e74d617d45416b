"""Commands about evidence: what strangers can verify."""
