"""Objects, their versions and parts as files of this machine."""
