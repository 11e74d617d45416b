"""Series over HTTP: lists and details, plans, launches and changes, and comparisons."""
