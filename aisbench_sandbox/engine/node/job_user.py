"""The user that runs a job's processes when the sandbox runs as root: one that owns nothing on this machine."""

import os
import pwd
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Accounts of people end at 60,000 (UID_MAX in login.defs), those of services stay below 1,000.
_NUMBERS = range(64_500, 64_000, -1)


@dataclass(frozen=True, slots=True)
class JobUser:
    """A user id and a group id."""

    uid: int
    gid: int


@cache
def job_user() -> JobUser | None:
    """The first unused id; None where the sandbox is not root and cannot change users."""
    if os.geteuid() != 0:
        return None
    # Group ids too: the user gets a group with its own number.
    used = {entry.pw_uid for entry in pwd.getpwall()} | {entry.pw_gid for entry in pwd.getpwall()}
    number = next(number for number in _NUMBERS if number not in used)
    return JobUser(number, number)


def give_folder(folder: Path, user: JobUser) -> None:
    """Make the user the owner of a directory and everything below it; links are not followed."""
    os.chown(folder, user.uid, user.gid, follow_symlinks=False)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(parent, name), user.uid, user.gid, follow_symlinks=False)
