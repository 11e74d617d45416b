"""Running jobs: scheduling, and nodes as processes of this machine from the first download to the end."""
