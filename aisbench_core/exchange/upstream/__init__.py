"""Reads and writes what the upstream tool ais-bench-stubs uses: its configurations and its packages."""
