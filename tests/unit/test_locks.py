"""Every file that set-up fetches is known by its hash, and the locks hold all that `pyproject.toml` asks for."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source_tree import HOME

LOCKS = HOME / "requirements"
NAMES = (
    "build",
    "run",
    "test",
    "bench",
    "frameworks",
    "mlflow",
    "oidc",
    "clients",
    "torch",
    "fonts",
    "coverage",
    "duckdb",
)
LOCK_OF_EXTRA = {
    "pdf": "run",
    "search": "run",
    "team": "test",
    "tensorboard": "test",
    "timestamps": "test",
    "test": "test",
    "bench": "bench",
    "mindspore": "frameworks",
    "mpi": "frameworks",
}
WITHOUT_HASH = {"torch"}
BUILDS_OF_TORCH = re.compile("nvidia-|cuda-|triton$")
ELSEWHERE = {"brotlicffi", "pywin32", "tzdata", "waitress"}  # PyPy, Windows

_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(name: str) -> list[list[str]]:
    """Each requirement of a lock with its options: a line that ends in a backslash goes on in the next."""
    text = (LOCKS / f"{name}.lock").read_text("utf-8").replace("\\\n", "\t")
    return [[part.strip() for part in line.split("\t")] for line in text.splitlines()]


def pins(name: str) -> dict[str, str]:
    """Version by name of what a lock holds, for this project's systems."""
    found = {}
    for requirement, *_ in entries(name):
        pin = Requirement(requirement)
        (only,) = pin.specifier
        assert only.operator == "==", requirement
        found[canonicalize_name(pin.name)] = only.version
    return {each: pinned for each, pinned in found.items() if each not in ELSEWHERE}


def listed(path: Path) -> dict[str, str]:
    """Version by name of a list of `name==version`."""
    lines = (line.partition("==") for line in path.read_text("utf-8").splitlines())
    return {canonicalize_name(name): pinned for name, _, pinned in lines}


def covering(lock: str) -> dict[str, str]:
    """What is installed when a lock is: every lock but these four adds to the one of `make run`."""
    return pins(lock) if lock in ("build", "mlflow", "oidc", "clients") else pins("run") | pins(lock)


def pinned_here(*names: str) -> dict[str, str]:
    """Version by name of what pip installs from these locks on this system."""
    pinned = (Requirement(requirement) for name in names for requirement, *_ in entries(name))
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in pinned
        if each.marker is None or each.marker.evaluate()
    }


def test_there_is_no_other_lock() -> None:
    assert {file.stem for file in LOCKS.glob("*.lock")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_requirement_of_a_lock_is_one_version_with_hashes(name: str) -> None:
    for requirement, *options in entries(name):
        assert re.match(r"[\w.-]+==(\d+!)?[\w.]+( ;|$)", requirement)
        assert options
        assert all(_HASH.fullmatch(option) for option in options), requirement


def test_locks_and_constraints_pin_the_same_versions() -> None:
    constraints = listed(HOME / "constraints.txt")
    locked = pins("run") | pins("test") | pins("bench") | pins("frameworks") | pins("torch")

    assert locked == {name: pinned for name, pinned in constraints.items() if name not in WITHOUT_HASH}
    assert pins("mlflow") == listed(HOME / "tests/bench/mlflow.txt")
    assert pins("oidc") == listed(HOME / "tests/oidc/provider_mock.txt")


def test_the_locks_hold_all_that_pyproject_asks_for() -> None:
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))
    asked = {"build": project["build-system"]["requires"], "run": project["project"]["dependencies"]}
    extras = project["project"]["optional-dependencies"]

    for lock, wanted in [
        *asked.items(),
        *((LOCK_OF_EXTRA[extra], extras[extra]) for extra in extras if extra != "torch"),
    ]:
        for text in wanted:
            requirement = Requirement(text)
            if requirement.name != "aisbench-console":  # an extra of ours: it stands in a lock itself
                assert requirement.specifier.contains(covering(lock)[canonicalize_name(requirement.name)]), text


def test_what_is_installed_here_is_in_the_locks_with_all_that_it_asks_for() -> None:
    locked = pinned_here("build", "run", "test")

    assert {name: version(name) for name in locked} == locked
    for text in (text for name in locked for text in requires(name) or ()):
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)], prereleases=True), text


@pytest.mark.torch
def test_the_lock_holds_what_torch_asks_for_whatever_its_build() -> None:
    locked = covering("torch") | pins("build")
    wanted = [
        each
        for each in map(Requirement, requires("torch") or ())
        if each.marker is None or each.marker.evaluate({"extra": ""})
    ]
    common = [each for each in wanted if not BUILDS_OF_TORCH.match(each.name)]

    assert [str(each) for each in common if not each.specifier.contains(locked[canonicalize_name(each.name)])] == []
    assert version("sympy") == locked["sympy"]


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "harmless-1.0-py3-none-any.whl"
    wheel.write_bytes(b"somebody else's")
    lock = tmp_path / "run.lock"
    lock.write_text(f"harmless==1.0 --hash=sha256:{'0' * 64}\n", "utf-8")
    options = ["--isolated", "--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "to")]
    command = [sys.executable, "-m", "pip", "install", *options, "--require-hashes", "--requirement", str(lock)]

    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert run.returncode != 0
    assert "DO NOT MATCH THE HASHES" in run.stderr


def test_make_installs_nothing_unchecked_but_torch() -> None:
    text = (HOME / "Makefile").read_text("utf-8").replace("\\\n", " ")
    installs = [line for line in text.splitlines() if re.search(r"^\t.*(\$\(PIP\)|pip install)", line)]

    assert "\nINSTALL := requirements/install.py --require-hashes\n" in text
    unchecked = [line.strip() for line in installs if "--require-hashes" not in line]
    assert [line for line in unchecked if "--no-deps --editable ." not in line and "uv==" not in line] == [
        "@$(PIP) --constraint constraints.txt --editable '.[torch]'"
    ]
