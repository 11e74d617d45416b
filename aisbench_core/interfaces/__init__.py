"""Doors to the console: command line, REST, its client, and what stands before Streamlit."""
