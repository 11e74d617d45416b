"""Series that the follower launches by the clock."""
