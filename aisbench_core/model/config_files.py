"""Configuration files that parameters name: which values do, and whether they lie in the run's code."""

import posixpath
import re
from collections.abc import Collection
from pathlib import PurePosixPath

CODE_FOLDER = "/home/ma-user/modelarts/user-job-dir"
"""Where the platform puts a job's code, in a directory of its own name."""

_CONFIG_FILE = re.compile(r"\.(ya?ml|json5?|toml|ini|cfg|conf|py|txt|properties)$", re.IGNORECASE)


def names_config_file(value: object) -> bool:
    """Whether a parameter's value is the name of a configuration file, by its ending."""
    return isinstance(value, str) and _CONFIG_FILE.search(value) is not None


def path_in_code(value: str, local_code_dir: str) -> str:
    """The path that a file would have below the code's directory or in one of its folders; empty for files elsewhere.

    Programs read a relative path in their working directory or in the folder of one of their modules, so that it may
    begin with `..`. `local_code_dir`: where the spec wants the code."""
    if "://" in value:
        return ""
    path = PurePosixPath(posixpath.normpath(value))
    if not path.is_absolute():
        return "/".join(part for part in path.parts if part != "..")
    code = local_code_dir or CODE_FOLDER
    return path.relative_to(code).as_posix() if path.is_relative_to(code) else ""


def is_in_code(path: str, code: Collection[str]) -> bool:
    """Whether such a path is that of one of the code's files, given by their paths below its directory."""
    below = path.partition("/")[2]  # the code's directory has a name, too
    return path in code or below in code or any(name.endswith(f"/{path}") for name in code)
