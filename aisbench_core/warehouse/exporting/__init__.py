"""Files for compliance reports and for other programs: the same rows, by one query, in every format."""
