"""The programs of a node's base environment, `anaconda3`: those that come with packages, and conda.

They follow the node's own Python on the path, so what a job installs precedes them."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from aisbench_sandbox.engine.node.interpreter import write_program

# Run by the node's Python, so that it finds what the job has installed.
_RUNNER = Path(__file__).with_name("console_script.py")
# How a command and variables name an environment of the image (training guide, 3.4 and 7.7).
_NAMED = re.compile(r"(?:anaconda3|\$\{?ANACONDA_DIR\}?)/envs/([\w.-]+)/")
_NAMING = ("ENV_NAME", "DEFAULT_CONDA_ENV_NAME")
_NAME = re.compile(r"\w[\w.-]{0,99}")
_OWN = ("python", "pip", "activate", "conda")

# The parts of conda that start programs. An environment that does not exist here is one of the image's, which is not
# used: this machine's programs are.
_CONDA = """#!/bin/sh
base=$(cd "$(dirname "$0")/.." && pwd)
what=$1
[ $# -eq 0 ] || shift
case "$what" in
run)
    folder=
    while [ $# -gt 0 ]; do
        case "$1" in
        -n | --name) folder=$base/envs/$2; shift 2 ;;
        -p | --prefix) folder=$2; shift 2 ;;
        --cwd) cd "$2" || exit 1; shift 2 ;;
        -*) shift ;;
        *) break ;;
        esac
    done
    [ ! -d "$folder/bin" ] || PATH=$folder/bin:$PATH
    exec "$@"
    ;;
shell.*) echo ". '$base/etc/profile.d/conda.sh'" ;;
env | info) for folder in "$base"/envs/*; do echo "$(basename "$folder") $folder"; done ;;
activate | deactivate)
    echo "CondaError: Run 'conda init' before 'conda $what'" >&2
    exit 1
    ;;
*)
    echo "conda $what: the sandbox has only conda run, activate, deactivate, env and info" >&2
    exit 1
    ;;
esac
"""
_FUNCTION = """conda() {
    case "$1" in
    activate)
        case "$2" in */*) CONDA_PREFIX=$2 ;; *) CONDA_PREFIX=$ANACONDA_DIR/envs/$2 ;; esac
        CONDA_DEFAULT_ENV=$2
        [ ! -d "$CONDA_PREFIX/bin" ] || PATH=$CONDA_PREFIX/bin:$PATH
        export PATH CONDA_PREFIX CONDA_DEFAULT_ENV
        ;;
    deactivate) unset CONDA_PREFIX CONDA_DEFAULT_ENV ;;
    *) command conda "$@" ;;
    esac
}
"""
_ACTIVATE = '. "$ANACONDA_DIR/etc/profile.d/conda.sh"\nconda activate "$@"\n'


def make_base_programs(folder: Path, python: Path) -> None:
    """Make `bin` and conda's files in a base environment; `python` is the interpreter of its environment."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    runner = folder / "console-script"
    below = python.relative_to(folder)
    line = f'exec "$(dirname "$0")/../{below}" "{_RUNNER}" "$(basename "$0")" "$@"\n'
    write_program(runner, f"#!/bin/sh\n{line}")
    for name in _list_scripts():
        (programs / name).symlink_to("../console-script")
    for file in _list_binaries():
        (programs / file.name).symlink_to(file)
    write_program(programs / "conda", _CONDA)
    write_program(programs / "activate", _ACTIVATE)
    setup = folder / "etc" / "profile.d" / "conda.sh"
    setup.parent.mkdir(parents=True)
    setup.write_text(_FUNCTION, "utf-8")


def link_environments(python_home: Path, algorithm: Mapping[str, Any]) -> None:
    """Give the node's environment the names by which a job calls that of its image."""
    variables = algorithm.get("environments") or {}
    named = {*_NAMED.findall(algorithm.get("command") or ""), *(variables.get(name, "") for name in _NAMING)}
    for name in sorted(named):
        link = python_home.parent / name
        if _NAME.fullmatch(name) and not link.exists():
            link.symlink_to(python_home.name)


@cache
def _list_scripts() -> tuple[str, ...]:
    """Console scripts of the packages that the node's Python sees, such as torchrun and accelerate."""
    names = {entry.name for entry in entry_points(group="console_scripts")}
    return tuple(sorted(name for name in names if not name.startswith(_OWN)))


@cache
def _list_binaries() -> tuple[Path, ...]:
    """Other programs that packages brought into the sandbox's own environment, such as mpirun."""
    return tuple(_find_binaries()) if sys.prefix != sys.base_prefix else ()


def _find_binaries() -> Iterator[Path]:
    scripts = set(_list_scripts())
    for file in sorted(Path(sys.executable).parent.iterdir()):
        if file.is_file() and os.access(file, os.X_OK) and file.name not in scripts and not file.name.startswith(_OWN):
            yield file
