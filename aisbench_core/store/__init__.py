"""Where runs are kept: ledger, audit, run folders and their seals."""
