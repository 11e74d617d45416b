"""The tables, and what every store of them does."""
