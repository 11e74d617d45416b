"""Care for a console: backups, health, checks of the machine, and the place of the warehouse."""
