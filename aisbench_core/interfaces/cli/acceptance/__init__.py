"""Commands about suites and acceptances."""
