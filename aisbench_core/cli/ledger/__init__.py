"""Commands about the ledger."""
