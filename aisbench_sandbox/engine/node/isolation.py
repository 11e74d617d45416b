"""Whether jobs can read what the sandbox's user can read, real keys above all, and what follows from that."""

import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from aisbench_sandbox.engine.node.container import Containers, Visibility, why_no_containers
from aisbench_sandbox.engine.node.job_user import JobUser, job_user
from aisbench_sandbox.engine.node.probing import PYTHON, find_failure

SWITCH = "--dangerously-expose-keys-to-jobs"
# Run as the user for jobs: permissions, ACLs and mounts together decide, so only that user can tell.
_CHECK = """
import os, sys
work, needed, hidden = sys.argv[1], *(argument.splitlines() for argument in sys.argv[2:])
if not os.access(work, os.X_OK):
    sys.exit(f"the user for jobs does not reach {work}")
for path in needed:
    if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
        sys.exit(f"the user for jobs does not reach {path}")
for path in hidden:
    if os.access(path, os.R_OK) or os.path.isdir(path) and os.access(path, os.X_OK):
        sys.exit(f"every user of this machine can read {path}")
"""


@dataclass(frozen=True, slots=True)
class Isolation:
    """How jobs are isolated: in containers, or else as a `user` of their own; or not at all, and why.

    `without_containers` and `exposed` are empty where jobs run in containers; `exposed` is also empty where a user of
    their own is enough."""

    work: Path
    visibility: Visibility
    without_containers: str = ""
    exposed: str = ""
    exposed_in_chinese: str = ""
    user: JobUser | None = None

    @property
    def caution(self) -> str:
        """A warning for the user; empty if jobs are isolated."""
        if not self.exposed:
            return ""
        return f"jobs of this sandbox can read your files, keys among them: {self.exposed}"

    @property
    def caution_in_chinese(self) -> str:
        """The same warning for a Chinese page."""
        return f"此沙箱的作业可以读取您的文件，包括密钥：{self.exposed_in_chinese}" if self.exposed else ""


@dataclass(frozen=True, slots=True)
class RealKeys:
    """Keys that jobs must not read: `beside` says that there are some, `files` may contain some at any time."""

    beside: bool = False
    files: tuple[Path, ...] = ()
    exposed_on_purpose: bool = False

    def why_no_jobs(self, isolation: Isolation) -> str:
        """Why no job may run now; empty if jobs may run."""
        if not isolation.exposed or self.exposed_on_purpose:
            return ""
        if not self.beside and not any(_holds_something(file) for file in self.files):
            return ""
        return f"{isolation.caution}. No job is run beside real keys; {SWITCH} runs them all the same"


def choose_isolation(wish: Containers, data: Path, visibility: Visibility) -> Isolation:
    """The best isolation available here, found out by trying. Jobs get their directories below `work`."""
    work = data / "work"
    work.mkdir(parents=True, exist_ok=True)
    why = why_no_containers(wish, work)
    if not why:
        return Isolation(work, visibility)
    user = job_user()
    if user is None:
        exposed = f"they run as your own user, without containers ({why})"
        return Isolation(work, visibility, why, exposed, f"作业以您自己的用户身份运行，没有容器（{why}）")
    # The sandbox's folder is closed to others, because the keys and objects are in it.
    reachable = _make_reachable_folder(data)
    reason = _why_user_is_not_enough(user, reachable, visibility)
    if reason:
        exposed = f"they run as root, without containers ({why}); {reason}"
        return Isolation(work, visibility, why, exposed, f"作业以 root 身份运行，没有容器（{why}）；{reason}")
    return Isolation(reachable, visibility, why, user=user)


def _why_user_is_not_enough(user: JobUser, work: Path, visibility: Visibility) -> str:
    """Empty if this user can run jobs and can read nothing that has to be hidden, else why not."""
    lists = ("\n".join(map(str, paths)) for paths in (visibility.readable, visibility.hidden))
    check = [*PYTHON, "-c", _CHECK, str(work), *lists]
    try:
        return find_failure(["--user", str(user.uid), str(user.gid), *check])
    except OSError as error:
        return f"another user cannot be tried here: {error}"


def _make_reachable_folder(data: Path) -> Path:
    """A directory outside of `data` that other users cannot enter; always the same path, so that leftovers are
    found."""
    name = f"aisbench-sandbox-{sha256(os.fsencode(data)).hexdigest()[:16]}"
    folder = Path(tempfile.gettempdir()).resolve() / name
    # Others may pass through to their own directory, but not list this one.
    folder.mkdir(mode=0o711, exist_ok=True)
    # The temporary directory is everybody's: another user may have made this path first.
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise OSError(f"{folder} is somebody else's")
    folder.chmod(0o711)
    return folder


def _holds_something(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False
