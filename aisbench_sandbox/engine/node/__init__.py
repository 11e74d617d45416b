"""One node of a job: its container, files, processes, logs and measurements."""
