"""Writes ma-pre-start.sh, the script beside a boot file that sets variables and installs packages.

The platform runs it on each node before the boot file, in the shell whose environment the boot file inherits."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from aisbench_core.model import RunSpec

SCRIPT = "ma-pre-start.sh"
OWN = "ma-pre-start.own.sh"  # the uploaded name of the user's own script, if the console writes one as well

PASSPORT = "aisbench_passport.py"
FOLDER = "run"  # the directory for packages, beside the boot file

# The beginning of every script that the console writes.
HEAD = """#!/bin/bash
# Written by the AISBench console for one spec; it runs before the boot file, in the same shell.
"""

_HEAD = f"""{HEAD}# shellcheck disable=SC2016  # names are meant as they are written

aisbench_end() {{
    printf '[aisbench] %s; the job ends here, because it would not measure the requested software\\n' "$1" >&2
    exit 1
}}
"""

# Finds the script's directory: by its own path, or by the platform's, because not every shell sets BASH_SOURCE.
_FIND = """
for aisbench_here in "${BASH_SOURCE[0]%/*}" @PATHS@ .; do
    [ -f "$aisbench_here/@SCRIPT@" ] && break
done
case $aisbench_here in
    /*) ;;
    *) aisbench_here=$PWD/$aisbench_here ;;
esac
"""

# The installer of CANN needs root, and some images run jobs as another user, with sudo.
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
    """Whether the console writes a script for this spec. Custom images do not run one."""
    # A boot file in the spec means a preset image.
    return bool(spec.code_dir and spec.boot_file and (spec.variables or spec.update.packages))


def get_sibling_path(spec: RunSpec, name: str) -> str:
    """The path of a file beside the boot file, relative to the code directory."""
    return str(PurePosixPath(spec.boot_file).parent / name)


def own_script(spec: RunSpec) -> Path | None:
    """The user's own script beside the boot file, if any."""
    file = _code_dir(spec) / get_sibling_path(spec, SCRIPT)
    return file if file.is_file() else None


def map_packages(spec: RunSpec) -> dict[str, Path]:
    """The packages to upload, by their path relative to the code directory."""
    files = (Path(path) for path in spec.update.packages.values())
    return {get_sibling_path(spec, f"{FOLDER}/{file.name}"): file for file in files}


def build_script(spec: RunSpec, *, with_own: bool, with_passport: bool = False) -> str:
    """The script: variables, protobuf, MindSpore and CANN, the user's own script, and the variables again.

    Then, `with_passport`, what captures the node, which lies beside it.

    The variables come twice so that neither an installation nor the user's script overrides the spec. A package that
    cannot be installed ends the job. `with_own`: the user's script is uploaded as ma-pre-start.own.sh."""
    return "".join(_iterate_parts(spec, with_own, with_passport))


def _code_dir(spec: RunSpec) -> Path:
    return Path(os.path.expanduser(spec.code_dir))  # noqa: PTH111  # pathlib's raises for an unknown ~name


def _iterate_parts(spec: RunSpec, with_own: bool, with_passport: bool) -> Iterator[str]:
    update = spec.update.packages
    # One call of pip for both wheels, so that MindSpore gets this protobuf and not another one.
    wheels = [Path(update[field]).name for field in ("protobuf", "mindspore") if field in update]
    yield _HEAD
    if spec.variables:
        exports = "".join(f"    export {name}={shlex.quote(value)}\n" for name, value in spec.variables.items())
        yield f"\naisbench_variables() {{\n{exports}}}\naisbench_variables\n"
    if update or with_own or with_passport:
        yield _FIND.replace("@PATHS@", _remote_folder(spec)).replace("@SCRIPT@", SCRIPT)
    if wheels:
        yield _install_wheels(wheels)
    if "cann" in update:
        yield _AS_ROOT + _install_cann(Path(update["cann"]).name)
    if with_own:
        # Sourced, not executed: its exports must reach the boot file.
        yield f'\n# The script of the code directory itself.\n# shellcheck source=/dev/null\n. "$aisbench_here/{OWN}"\n'
        if spec.variables:
            yield "aisbench_variables\n"
    if with_passport:
        yield _capture_node(spec)


def _remote_folder(spec: RunSpec) -> str:
    """The boot file's directory on a node; the platform downloads the code below MA_JOB_DIR."""
    name = _code_dir(spec).resolve().name or "code"
    path = shlex.quote(str(PurePosixPath(name) / PurePosixPath(spec.boot_file).parent))
    return f'"${{MA_JOB_DIR:-.}}"/{path}'


def _capture_node(spec: RunSpec) -> str:
    arguments = (f"--{name}={value}" for name, value in spec.parameters.items())
    output, boot_file = shlex.quote(spec.outputs[0].name), shlex.quote(PurePosixPath(spec.boot_file).name)
    words = " ".join([output, f'"$aisbench_here"/{boot_file}', *map(shlex.quote, arguments)])
    return (
        "\n# Captures what this node is; the job goes on whatever happens to it.\n"
        f'"${{MA_SCRIPT_INTERPRETER:-python}}" "$aisbench_here/{PASSPORT}" {words} </dev/null >/dev/null 2>&1 || true\n'
    )


def _install_wheels(names: list[str]) -> str:
    files = " ".join(_quote_package(name) for name in names)
    failure = shlex.quote(f"pip could not install {' and '.join(names)}")
    # stdin is closed, so that pip cannot wait for an answer that nobody gives.
    return (
        f"\necho {shlex.quote('[aisbench] install ' + ' and '.join(names))}\n"
        f'"${{MA_SCRIPT_INTERPRETER:-python}}" -m pip install --disable-pip-version-check -- {files} </dev/null \\\n'
        f"    || aisbench_end {failure}\n"
    )


def _install_cann(name: str) -> str:
    return (
        f"\necho {shlex.quote('[aisbench] install ' + name)}\n"
        f"aisbench_as_root chmod +x -- {_quote_package(name)}\n"
        f"aisbench_as_root {_quote_package(name)} --upgrade --quiet </dev/null \\\n"
        f"    || aisbench_end {shlex.quote(name + ' could not be installed')}\n"
    )


def _quote_package(name: str) -> str:
    return f'"$aisbench_here/{FOLDER}"/{shlex.quote(name)}'
