"""`aisbench logs`."""
