"""A workload's folder, put beside the user's own workloads as a whole or not at all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aisbench_core import strict_yaml
from aisbench_core.authoring.packages.package import Package
from aisbench_core.authoring.workloads import MANIFEST, Workload
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message
from aisbench_core.settings import Settings

README = "README.md"


def conflict(settings: Settings, name: str) -> ConfigError | None:
    """Why no workload can be given this name; None if one can."""
    if (settings.workloads_dir / name).exists():
        return ConfigError(Message("a workload named {name!r} is shipped", name=name), Message("choose another name"))
    if (settings.own_workloads_dir / name).exists():
        return ConfigError(
            Message("there is another workload named {name!r}, which was not made of this package", name=name),
            Message(
                "choose another name, or remove {folder} if nobody needs it", folder=settings.own_workloads_dir / name
            ),
        )
    return None


def keep(settings: Settings, workload: Workload, package: Package, manifest: Mapping[str, Any]) -> None:
    """Put manifest and page beside the code, and the folder in its place. Raises ConfigError if that is taken."""
    trouble = conflict(settings, workload.name)
    if trouble:
        raise trouble
    try:
        (package.folder / MANIFEST).write_text(strict_yaml.dump(dict(manifest)), "utf-8")
        (package.folder / README).write_text(_page(workload, package), "utf-8")
        package.folder.rename(_place(settings, workload))
    except FileNotFoundError:
        raise ConfigError(
            Message("the code of {package} is not here any more", package=package.source),
            Message("import the package again"),
        ) from None
    except OSError as error:
        trouble = conflict(settings, workload.name)  # somebody else may have been faster
        raise trouble or ConfigError(
            Message("{workload!r} cannot be written: {why}", workload=workload.name, why=error.strerror)
        ) from error


def _place(settings: Settings, workload: Workload) -> Path:
    return settings.own_workloads_dir / workload.name


def _page(workload: Workload, package: Package) -> str:
    edition = workload.edition()
    name = package.name
    rows = [
        ("package", f"`{package.source}`"),
        ("company", name.company if name else "not told"),
        ("architecture", name.architecture if name else "not told"),
        ("framework", f"{workload.framework}, {edition.version}"),
        ("engine", f"`{edition.engine_version}`"),
        ("boot file", f"`{edition.boot_file}`"),
        ("code", f"{package.entries:,} files, {package.size:,} bytes, as they were in `code/code`"),
        ("throughput", workload.definitions[edition.throughput_definition].text),
        ("data", workload.dataset.name),
    ]
    table = "".join(f"| {head} | {text} |\n" for head, text in rows)
    return (
        f"# {workload.name}\n\nMade of a package of ais-bench-stubs. What it does not tell is marked as unknown or not "
        f"known in `{MANIFEST}`; write there what you know.\n\n| | |\n|---|---|\n{table}\n"
        "The code writes its result files by itself, so the manifest asks for no reporter. Keys of the package's\n"
        "configuration are not in this folder.\n"
    )
