"""Settings, keys and the data folder: what a console is told about itself."""
