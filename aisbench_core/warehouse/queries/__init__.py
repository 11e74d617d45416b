"""The SQL that all answers share: filters, searches, statistics of groups."""
