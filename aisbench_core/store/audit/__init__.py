"""The audit of what people change: a chain of entries beside the ledger."""
