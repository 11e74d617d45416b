"""REST for programs: what the pages show and do, as JSON, for whoever has a token."""
