"""Commands about the event files of runs."""
