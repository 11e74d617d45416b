"""A Debian of a test's own, with systemd as its first process and without a network: namespaces of this machine.

Needs Linux, root and debootstrap; Debian's packages are fetched, about 60 MB."""

import os
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

from tests.source_tree import HOME

PACKAGES = "systemd,systemd-sysv,dbus,python3,python3-venv,curl,procps,sudo"
SUITE = "bookworm"
READY_SECONDS = 60.0
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# Run by a shell that has namespaces of its own; $1 is the folder. Its end is the end of everything in it.
BOOT = f"""
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for folder in run tmp dev; do mount -t tmpfs tmpfs $folder; done
mkdir dev/pts dev/shm
for device in {" ".join(DEVICES)}; do cp -a /dev/$device dev/$device; done
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
mknod dev/console c 1 3
mount -t devpts devpts dev/pts -o newinstance,ptmxmode=0666
mkdir -p before
pivot_root . before
umount -l /before
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
"""


def is_possible() -> bool:
    """Whether this machine can make one."""
    return os.geteuid() == 0 and shutil.which("debootstrap") is not None


class Debian:
    """One machine, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        checked("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(folder))

    def bring(self, name: str) -> Path:
        """A folder on it that files can be written to: /opt/<name>."""
        folder = self.folder / "opt" / name
        folder.mkdir(parents=True)
        return folder

    def boot(self) -> None:
        """Start its systemd."""
        command = ["unshare", "-mpfuiCn", "--kill-child", "bash", "-c", BOOT, "boot", str(self.folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + READY_SECONDS
        while self.attempt("systemctl is-system-running --wait").stdout.strip() not in ("running", "degraded"):
            assert time.monotonic() < until, "systemd did not start"
            time.sleep(0.5)

    def run(self, script: str) -> str:
        """What a script of root prints, which must succeed."""
        done = self.attempt(script)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def attempt(self, script: str) -> "subprocess.CompletedProcess[str]":
        """A script of root, to its end."""
        assert self._process
        first = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text("utf-8").split()
        if not first:
            return subprocess.CompletedProcess(script, 1, "", "not yet")
        enter = ["nsenter", "--target", first[0], "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--net"]
        return subprocess.run(
            [*enter, "bash", "-e", "-o", "pipefail", "-c", textwrap.dedent(script)],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def stop(self) -> None:
        """Pull the plug."""
        if self._process:
            self._process.kill()
            self._process.wait()


def checked(*command: str) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout
