"""deploy/Containerfile, built without a network and run as docs/deploy.md says, by podman on a Debian's Python."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.reliability.debian import SUITE, checked
from tests.reliability.outcomes import campaign
from tests.source_tree import HOME

IS_POSSIBLE = os.geteuid() == 0 and bool(shutil.which("podman")) and bool(shutil.which("debootstrap"))
pytestmark = pytest.mark.skipif(
    not IS_POSSIBLE, reason="a container of its own needs Linux, root, podman and debootstrap"
)

PAGE = (HOME / "docs" / "deploy.md").read_text("utf-8")
BASE = "localhost/python:debian"
IN_OWN_CGROUPS = """
mount --make-rprivate /
umount --lazy --recursive /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec podman "$@"
"""
"""podman runs on cgroup 2 only, which a test machine may have beside the first."""


@dataclass(frozen=True, slots=True)
class Engine:
    """podman with a store of its own."""

    folder: Path
    state: str

    def attempt(self, *words: str, source: bytes | None = None) -> "subprocess.CompletedProcess[bytes]":
        """A command to its end."""
        store = ["--root", str(self.folder / "store"), "--runroot", self.state]
        command = [
            "unshare",
            "-m",
            "bash",
            "-e",
            "-c",
            IN_OWN_CGROUPS,
            "podman",
            *store,
            "--cgroup-manager=cgroupfs",
            *words,
        ]
        return subprocess.run(command, cwd=HOME, input=source, capture_output=True, timeout=1200, check=False)

    def run(self, *words: str, source: bytes | None = None) -> str:
        """The output of a command that must succeed."""
        done = self.attempt(*words, source=source)
        assert done.returncode == 0, f"podman {' '.join(words)}\n{done.stderr.decode()[-3000:]}"
        return done.stdout.decode()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine that has an image with Debian's Python: `python:3.12-slim` lies in a registry."""
    base = tmp_path / "debian"
    checked("debootstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, str(base))
    checked("tar", "--directory", str(base), "--create", "--file", str(tmp_path / "base.tar"), ".")
    with TemporaryDirectory(prefix="podman-") as state:  # podman takes 50 characters
        engine = Engine(tmp_path, state)
        engine.run("import", str(tmp_path / "base.tar"), BASE)
        yield engine
        engine.attempt("rm", "--force", "--time", "20", "--all")
        engine.attempt("system", "reset", "--force")


def on_the_page(command: str) -> list[str]:
    """The words of a podman command of the page, behind `podman`."""
    [block] = re.findall(r"^## In a container\n+```sh\n(.*?)^```", PAGE, re.M | re.S)
    [line] = [each for each in block.replace("\\\n", " ").splitlines() if each.startswith(f"podman {command} ")]
    return shlex.split(line)[1:]


def test_the_image_is_built_runs_without_rights_is_healthy_and_ends(engine: Engine, tmp_path: Path) -> None:
    with campaign("deploy/Containerfile, built without a package index and run read-only", __file__) as row:
        build, run = on_the_page("build"), on_the_page("run")
        engine.run(build[0], *without_an_index(tmp_path), *build[1:])

        settings = tmp_path / "aisbench.yaml"
        settings.write_text("identity: none\n", "utf-8")
        run = [word.replace("/etc/aisbench/aisbench.yaml:/", f"{settings}:/") for word in run]
        # What the machines of tests do not grant to a container; nothing that gives it more rights.
        limits = ["--cgroups=disabled", "--ulimit=nofile=1024:1024", "--ulimit=nproc=2000:2000"]
        engine.run(run[0], *limits, *run[1:])

        until = time.monotonic() + 60
        while engine.attempt("healthcheck", "run", "bench").returncode:
            assert time.monotonic() < until, engine.attempt("logs", "bench").stderr.decode()
            time.sleep(0.5)
        assert engine.run("exec", "bench", "id", "--user").strip() == "10001"
        assert engine.attempt("exec", "bench", "touch", "/opt/aisbench/file").returncode != 0
        assert "/var/lib/aisbench is private" in engine.attempt("exec", "bench", "aisbench", "doctor").stdout.decode()
        assert "data" not in engine.run("exec", "bench", "ls", "/opt/aisbench").split()

        engine.run("stop", "--time", "60", "bench")
        assert engine.run("inspect", "--format", "{{.State.ExitCode}}", "bench").strip() == "0"
        row.repetitions = "1"
        row.outcome = "healthy as user 10001 on a read-only root without capabilities; ended with 0"


def without_an_index(folder: Path) -> list[str]:
    """Options of a build that takes packages from wheels only."""
    wheels, pip = folder / "wheels", folder / "pip.conf"
    locks = [word for name in ("build", "run") for word in ("--requirement", f"requirements/{name}.lock")]
    checked(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--dest", str(wheels), *locks)
    pip.write_text("[global]\nno-index = true\nfind-links = /opt/wheels\n", "utf-8")
    volumes = [f"--volume={wheels}:/opt/wheels:ro", f"--volume={pip}:/etc/pip.conf:ro"]
    return ["--isolation=chroot", "--network=host", f"--build-arg=PYTHON_IMAGE={BASE}", *volumes]
