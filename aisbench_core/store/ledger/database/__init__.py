"""Where a ledger is stored: the connection that its SQL needs, and a team's PostgreSQL."""
