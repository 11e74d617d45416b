"""Requests about jobs."""
