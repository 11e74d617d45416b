"""Python modules that preset images bring, for jobs: this folder is on their path, after all that is installed."""
