"""From results that were found to runs that are kept: previewed, completed by a person, stored once."""
