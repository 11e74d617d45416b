"""People and programs: accounts and sessions, tokens, budgets, and what is told to whom."""
