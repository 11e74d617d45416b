"""Runs from launch to record: the ledger, the steps, the follower, and logs."""
