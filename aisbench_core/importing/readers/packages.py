"""Model, framework and version from the name of the package that a run was started from."""

from typing import TypedDict

from aisbench_core.upstream.configs.package_names import FRAMEWORKS, package_name


class PackageFacts(TypedDict):
    """What a package's name contains, as fields of a ParsedResult; empty if unknown."""

    workload: str
    model: str
    framework: str
    framework_version: str


def package_facts(*paths: str) -> PackageFacts:
    """The facts from the first of these paths that contains the name of a package."""
    package = next((package for path in paths if (package := package_name(path))), None)
    workload = package.workload.removeprefix("train_") if package else ""
    framework, _, model = workload.partition("_")
    return PackageFacts(
        workload=workload,
        model=model,
        framework=FRAMEWORKS.get(framework, framework),
        framework_version=package.framework_version if package else "",
    )
