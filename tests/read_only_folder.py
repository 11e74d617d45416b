"""A folder that a program finds read-only: mounted so, or closed by its mode. Either way root is refused, too."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
ROOT = Path(__file__).parents[1]
IS_ROOT = os.geteuid() == 0


def by_mount(folder: Path) -> list[str]:
    """What to put before a command that is to find the folder mounted read-only; nobody else sees that mount."""
    own = () if IS_ROOT else ("--user", "--map-root-user")
    return ["unshare", "--mount", *own, "sh", "-c", MOUNTED, str(folder)]


def by_mode(folder: Path) -> list[str]:
    """What to put before a command that is to find nobody may write to the folder; root gives its privilege away."""
    folder.chmod(0o500)
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"] if IS_ROOT else []


def run(words: Sequence[str], environment: Mapping[str, str], asked: str = "") -> str:
    """What a program says that succeeds."""
    done = subprocess.run(
        words,
        input=asked,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def content(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file and folder below it, with size, mode and time of the last change."""
    found = {str(each.relative_to(folder)): each.lstat() for each in folder.rglob("*")}
    return {name: (facts.st_size, facts.st_mode, facts.st_mtime_ns) for name, facts in found.items()}
