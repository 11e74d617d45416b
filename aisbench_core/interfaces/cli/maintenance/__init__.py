"""Commands that care for a console: backups, cleaning, ledger and warehouse."""
