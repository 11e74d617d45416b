"""What running a job means: nodes as processes of this machine, from the first download to the end."""
