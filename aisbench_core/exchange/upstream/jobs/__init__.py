"""Training jobs as other tools describe them: read by what a file contains, and written."""
