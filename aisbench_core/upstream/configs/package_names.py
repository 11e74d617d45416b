"""Parses the file names of upstream packages."""

import re
from collections.abc import Mapping

from aisbench_core.upstream.configs.contents import PackageName

FRAMEWORKS: Mapping[str, str] = {"mindspore": "MindSpore", "pytorch": "PyTorch", "tensorflow": "TensorFlow"}

_NAME = re.compile(
    r"(?:train|inference)_(?P<company>[A-Za-z0-9]+)_(?P<workload>[A-Za-z]\w*)-Ais-Benchmark-Stubs"
    r"-(?P<architecture>aarch64|x86_64)-(?P<tool_version>[0-9]+(?:\.[0-9]+)*)"
    r"-(?P<framework_version>[A-Za-z]{0,9}[0-9]+(?:\.[0-9]+)*)_(?P<environment>[a-z]+)",
)


def package_name(path: str) -> PackageName | None:
    """The package's name from the last part of a path that is one; None if no part is.

    Unpacked folders keep the name of their package, often with a suffix."""
    for part in reversed(re.split(r"[/\\]", path)):
        if match := _NAME.match(part):
            return PackageName(**match.groupdict())
    return None
