"""The account that this process runs as: who follows, and who acts in a shell."""

import getpass
import os
import pwd


def process_account() -> str:
    """The account of this process. The environment, which may say anything, counts only where the system has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container that was given a number as its user
        return getpass.getuser()
