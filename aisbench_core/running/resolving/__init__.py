"""What the names in a spec stand for, found out just before its job is created."""
