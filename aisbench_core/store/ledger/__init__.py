"""The ledger: runs, series, schedules, tokens and the outbox, as tables."""
