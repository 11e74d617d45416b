"""What was captured on the nodes of a job: read, compared, and put into the system description."""
