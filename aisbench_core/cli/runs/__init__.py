"""Commands about runs: from a spec to a job, its log, and launching it again."""
