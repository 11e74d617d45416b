"""From launch to the last line of a log: the ledger, the steps of a run, and the follower that walks them."""
