"""From the files that a job leaves behind to a record that the warehouse can store."""
