"""Python modules of preset images, for jobs: this folder is on their path, after all installed packages."""
