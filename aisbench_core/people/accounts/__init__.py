"""The audit of what people change, people with their roles, and their sessions."""
