"""The script ma-pre-start.sh that the console puts beside a boot file: variables, and packages to install.

The platform runs it on each node before the boot file, in the shell whose environment the boot file inherits."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from aisbench_core.model import RunSpec

SCRIPT = "ma-pre-start.sh"
OWN = "ma-pre-start.own.sh"
"""The name under which the person's own script is uploaded when the console writes one."""

FOLDER = "run"
"""Where packages lie, beside the boot file."""

HEAD = """#!/bin/bash
# Written by the AISBench console for one spec; it runs before the boot file, in the same shell.
"""
"""How a script of the console's own begins."""

_HEAD = f"""{HEAD}# shellcheck disable=SC2016  # names are meant as they are written

aisbench_end() {{
    printf '[aisbench] %s; the job ends here, because it would not measure what was asked for\\n' "$1" >&2
    exit 1
}}
"""

_FIND = """
for aisbench_here in "${BASH_SOURCE[0]%/*}" @PLACES@ .; do
    [ -f "$aisbench_here/@SCRIPT@" ] && break
done
case $aisbench_here in
    /*) ;;
    *) aisbench_here=$PWD/$aisbench_here ;;
esac
"""
"""Found by the script's own path, else where the platform puts the code: not every shell tells a script's path."""

_AS_ROOT = """
aisbench_as_root() {
    if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then
        sudo -n "$@"
    else
        "$@"
    fi
}
"""


def is_needed(spec: RunSpec) -> bool:
    """Whether the console writes a script for this spec. Images of one's own are started without any."""
    return bool(spec.code_dir and spec.boot_file and (spec.variables or spec.update.packages))


def beside(spec: RunSpec, name: str) -> str:
    """The path of a file beside the boot file, below the code directory."""
    return str(PurePosixPath(spec.boot_file).parent / name)


def own_script(spec: RunSpec) -> Path | None:
    """The person's own script beside the boot file, if there is one."""
    file = _code_dir(spec) / beside(spec, SCRIPT)
    return file if file.is_file() else None


def packages(spec: RunSpec) -> dict[str, Path]:
    """The packages to upload, by their path below the code directory."""
    files = (Path(path) for path in spec.update.packages.values())
    return {beside(spec, f"{FOLDER}/{file.name}"): file for file in files}


def script(spec: RunSpec, *, with_own: bool) -> str:
    """The script: variables, then protobuf, MindSpore and CANN, then the person's own script, then the variables again.

    So neither an installation nor the own script changes what the spec says. A package that cannot be installed ends
    the job. `with_own`: there is such a script, uploaded as ma-pre-start.own.sh."""
    return "".join(_parts(spec, with_own))


def _code_dir(spec: RunSpec) -> Path:
    return Path(os.path.expanduser(spec.code_dir))  # noqa: PTH111  # pathlib's raises for an unknown ~name


def _parts(spec: RunSpec, with_own: bool) -> Iterator[str]:
    update = spec.update.packages
    wheels = [Path(update[field]).name for field in ("protobuf", "mindspore") if field in update]
    yield _HEAD
    if spec.variables:
        exports = "".join(f"    export {name}={shlex.quote(value)}\n" for name, value in spec.variables.items())
        yield f"\naisbench_variables() {{\n{exports}}}\naisbench_variables\n"
    if update or with_own:
        yield _FIND.replace("@PLACES@", _code_places(spec)).replace("@SCRIPT@", SCRIPT)
    if wheels:
        yield _install_wheels(wheels)
    if "cann" in update:
        yield _AS_ROOT + _install_cann(Path(update["cann"]).name)
    if with_own:
        yield f'\n# The script of the code directory itself.\n# shellcheck source=/dev/null\n. "$aisbench_here/{OWN}"\n'
        if spec.variables:
            yield "aisbench_variables\n"


def _code_places(spec: RunSpec) -> str:
    """Where the directory of the boot file is on a node, as the platform says."""
    name = _code_dir(spec).resolve().name or "code"
    place = shlex.quote(str(PurePosixPath(name) / PurePosixPath(spec.boot_file).parent))
    return f'"${{MA_JOB_DIR:-.}}"/{place}'


def _install_wheels(names: list[str]) -> str:
    files = " ".join(_package(name) for name in names)
    told = shlex.quote(f"pip could not install {' and '.join(names)}")
    return (
        f"\necho {shlex.quote('[aisbench] install ' + ' and '.join(names))}\n"
        f'"${{MA_SCRIPT_INTERPRETER:-python}}" -m pip install --disable-pip-version-check -- {files} </dev/null \\\n'
        f"    || aisbench_end {told}\n"
    )


def _install_cann(name: str) -> str:
    return (
        f"\necho {shlex.quote('[aisbench] install ' + name)}\n"
        f"aisbench_as_root chmod +x -- {_package(name)}\n"
        f"aisbench_as_root {_package(name)} --upgrade --quiet </dev/null \\\n"
        f"    || aisbench_end {shlex.quote(name + ' could not be installed')}\n"
    )


def _package(name: str) -> str:
    return f'"$aisbench_here/{FOLDER}"/{shlex.quote(name)}'
