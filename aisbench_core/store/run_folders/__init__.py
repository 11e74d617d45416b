"""Run folders on OBS, for consoles and followers of several machines that share no file system."""
