"""Notifications: which events are told to whom, the outbox, and sending."""
