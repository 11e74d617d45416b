"""Names of upstream packages: who made it, what is trained, on which architecture, with which framework version."""

import re

from aisbench_core.authoring.upstream.found import PackageName

_NAME = re.compile(
    r"(?:train|inference)_(?P<company>[A-Za-z0-9]+)_(?P<workload>[A-Za-z]\w*)-Ais-Benchmark-Stubs"
    r"-(?P<architecture>aarch64|x86_64)-(?P<tool_version>[0-9]+(?:\.[0-9]+)*)"
    r"-(?P<framework_version>[A-Za-z]{0,9}[0-9]+(?:\.[0-9]+)*)_(?P<environment>[a-z]+)",
)


def package_name(path: str) -> PackageName | None:
    """What the last part of a path that is a package's name says; None when no part is one.

    Folders keep their package's name when they are unpacked, often with something added at its end."""
    for part in reversed(re.split(r"[/\\]", path)):
        found = _NAME.match(part)
        if found:
            return PackageName(**found.groupdict())
    return None
