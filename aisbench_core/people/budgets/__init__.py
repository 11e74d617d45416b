"""Budgets in money: who sets them, how much is used, and who approves what goes beyond them."""
