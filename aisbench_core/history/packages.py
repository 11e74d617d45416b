"""Model, framework and version from the name of the package that a run was started from."""

from dataclasses import dataclass

from aisbench_core.authoring.upstream.packages import package_name

FRAMEWORKS = {"mindspore": "MindSpore", "tensorflow": "TensorFlow", "pytorch": "PyTorch"}


@dataclass(frozen=True, slots=True)
class PackageNameFacts:
    """What a package's name tells; empty where it tells nothing."""

    workload: str = ""
    model: str = ""
    framework: str = ""
    framework_version: str = ""


def told_by(*paths: str) -> PackageNameFacts:
    """What the first of these paths that lies in a package tells."""
    for path in paths:
        package = package_name(path)
        if package:
            workload = package.workload.removeprefix("train_")
            framework, _, model = workload.partition("_")
            return PackageNameFacts(workload, model, FRAMEWORKS.get(framework, framework), package.framework_version)
    return PackageNameFacts()
