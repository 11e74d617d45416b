"""The sandbox's training service: the ModelArts API, and what it stores beside its jobs."""
