"""The work of a follower: threads, and the runs of each profile."""
