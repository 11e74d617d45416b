"""What the names in a spec stand for, found out once for each launch, just before its job is created."""
