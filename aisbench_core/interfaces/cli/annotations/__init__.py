"""`aisbench rename`, `note` and `tag`."""
