"""Builds the manifest of a package's workload, from the package itself and the shipped manifests."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.manifest import Parameter, ParameterType
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.exchange.upstream.configs.contents import FRAMEWORKS, Assigned, LineFinding, make_finding
from aisbench_core.exchange.upstream.configs.keys import APIS, LISTS
from aisbench_core.exchange.upstream.configs.session import ConfigReader, boot_file_of, convert_value
from aisbench_core.exchange.upstream.configs.workload_detection import release_of
from aisbench_core.exchange.upstream.packages.package import Answers, Package
from aisbench_core.model import Api, Scalar

# The company whose packages the shipped manifests describe; code of others may differ under the same name.
PUBLISHER = "huawei"

UNKNOWN = "unknown"
LONGEST_HELP = 300
LONGEST_NAME = 41  # with "-" and the run's id of 22 characters, a job's name has 64

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TRAIN = re.compile(r"train_([a-z]+)_(\w+)")
_OTHER_LETTERS = re.compile(r"[^A-Za-z0-9_-]+")
_ENDING = re.compile(r"\.(tar\.gz|tgz|tar)$")


@dataclass(frozen=True, slots=True)
class PackageConfig:
    """The job that the upstream tool would run, by the package's configuration.

    `parameters`: name, value, comment and line of each."""

    boot_file: str = ""
    engine_name: str = ""
    engine_version: str = ""
    inputs: str = ""
    parameters: tuple[tuple[str, Scalar, str, int], ...] = ()


def job_config(package: Package) -> PackageConfig:
    """The job of the dict that config.sh selects, else of that for V2, else of the only one."""
    dicts: Mapping[str, Assigned] = package.document.dicts if package.document else {}
    # Their findings are dropped here: the import of the configuration reports them.
    jobs = {APIS[name]: ConfigReader(dicts[name], []) for name in APIS if name in dicts and dicts[name].entries}
    selected = (package.document.shell.api if package.document else None) or Api.V2
    job = jobs.get(selected) or next(iter(jobs.values()), None)
    if job is None:
        return PackageConfig()
    engines = [jobs[api].text("framework_version") for api in (Api.V2, Api.V1) if api in jobs]
    return PackageConfig(
        boot_file=boot_file_of(job),
        engine_name=job.text("framework_type"),
        engine_version=next((engine for engine in engines if engine), ""),
        inputs=job.text("inputs"),
        parameters=tuple(job.parameters(*LISTS[job.name])),
    )


def suggested_name(package: Package) -> str:
    """A default name, workload and framework version, that is also valid as the beginning of a job's name."""
    name = package.name
    text = f"{name.workload}_{name.framework_version}" if name else _ENDING.sub("", package.source)
    return _OTHER_LETTERS.sub("_", text).strip("_-")[:LONGEST_NAME] or "package"


def framework_version(package: Package, config: PackageConfig) -> str:
    """The framework version, from the package's name or the engine."""
    return package.name.framework_version if package.name else release_of(config.engine_version) or UNKNOWN


def shipped_workload(package: Package, version: str, workloads: Workloads) -> Workload | None:
    """The shipped workload that describes this package, if any."""
    name = package.name
    if name is None or name.company != PUBLISHER:
        return None
    names = (name.workload, name.workload.removeprefix("train_"))
    shipped = (workload for workload in workloads.all() if not workload.is_own)
    return next((workload for workload in shipped if workload.name in names and version in workload.versions), None)


def manifest_of(package: Package, answers: Answers, config: PackageConfig, shipped: Workload | None) -> dict[str, Any]:
    """The content of workload.yaml; required values that are unknown are empty."""
    name, version = package.name, framework_version(package, config)
    edition = shipped.edition(version) if shipped else None
    # An id of its own keeps results of unknown packages apart from all others.
    definition = edition.throughput_definition if edition else f"package_{package.sha256[:12]}"
    framework, model = _framework_and_model(package, config)
    unknown = {
        "text": f"Unknown: as computed by the code of {package.source}",
        "text_zh": f"未知：由 {package.source} 的代码计算",
    }
    engine = config.engine_version or (edition.engine_version if edition else "")
    return {
        "title": f"{name.workload} {version} ({name.company})" if name else answers.name or suggested_name(package),
        "summary": f"Imported from the package {package.source}, with its code.",
        "summary_zh": f"由软件包 {package.source} 导入，代码来自该软件包。",
        "model": shipped.model if shipped else model,
        "framework": shipped.framework if shipped else framework,
        "boot_file": answers.boot_file or config.boot_file or (edition.boot_file if edition else ""),
        **({"engine_name": config.engine_name} if config.engine_name else {}),
        **({"throughput_unit": shipped.throughput_unit} if shipped else {}),
        "dataset": _to_plain(shipped.dataset) if shipped else {"name": UNKNOWN, "optional": not config.inputs},
        **({"target": _to_plain(shipped.target)} if shipped and shipped.target else {}),
        "definitions": {definition: _to_plain(shipped.definitions[definition]) if shipped else unknown},
        "parameters": dict(_iterate_parameters(config, edition.parameters if edition else {})),
        "versions": {
            version: {"throughput_definition": definition, "engine_version": answers.engine_version or engine}
        },
        "package": {
            "name": package.source,
            **({fact: getattr(name, fact) for fact in ("company", "architecture", "tool_version")} if name else {}),
            "sha256": package.sha256,
        },
    }


def unknown_facts(package: Package, config: PackageConfig, shipped: Workload | None) -> Iterator[LineFinding]:
    """Findings about what the manifest leaves unknown."""
    if package.name is None:
        message = Message(
            "the name {package!r} does not contain workload, architecture and framework version", package=package.source
        )
        hint = Message("restore the package's original file name, or enter a name")
        yield make_finding("package.name", "package", message, hint=hint)
    if shipped is None:
        hint = Message("add it to definitions and dataset in workload.yaml, and set decides_speed of the parameters")
        message = Message("it is unknown how throughput is computed: results are only comparable within this package")
        yield make_finding("package.throughput", "definitions", message, hint=hint)
    for name, _, _, line in config.parameters:
        if not _NAME.fullmatch(name):
            yield make_finding(
                "package.parameter", f"parameters.{name}", Message("is not a valid parameter name"), line
            )


def find_missing(package: Package, manifest: Mapping[str, Any]) -> Iterator[LineFinding]:
    """Findings about required values that are missing."""
    boot_file = manifest["boot_file"]
    if boot_file not in package.scripts:
        message = Message("{file!r} is not in code/code", file=boot_file) if boot_file else Message("is not known")
        scripts = ", ".join(package.scripts[:10]) or Message("no Python file")
        hint = Message("choose one; in code/code: {known}", known=scripts)
        yield make_finding("package.boot-file", "boot_file", message, hint=hint)
    (version,) = manifest["versions"].values()
    if not version["engine_version"]:
        hint = Message("enter one, such as mindspore_2.0.0-cann_6.3.0-py_3.7-euler_2.8.3-aarch64")
        yield make_finding("package.engine", "engine_version", Message("is not known"), hint=hint)


def _framework_and_model(package: Package, config: PackageConfig) -> tuple[str, str]:
    named = _TRAIN.fullmatch(package.name.workload) if package.name else None
    engine = re.match(r"[A-Za-z]+", config.engine_version)
    framework = named[1] if named else engine[0].lower() if engine else UNKNOWN
    model = named[2] if named else package.name.workload if package.name else UNKNOWN
    return FRAMEWORKS.get(framework, framework), model


def _iterate_parameters(
    config: PackageConfig, shipped: Mapping[str, Parameter]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The configuration's parameters; if it has none, those of the shipped manifest."""
    if not config.parameters:
        yield from ((name, _to_plain(parameter)) for name, parameter in shipped.items())
    for name, value, comment, _ in config.parameters:
        if not _NAME.fullmatch(name):
            continue
        parameter = shipped.get(name)
        default = convert_value(value, parameter)
        if parameter and not parameter.problem(default):
            yield name, {**_to_plain(parameter), "default": default}
        else:
            yield name, _new_parameter(value, comment)


def _new_parameter(value: Scalar, comment: str) -> dict[str, Any]:
    kind, default = _inferred_type(value)
    text = comment[:LONGEST_HELP]
    return {
        "type": str(kind),
        "default": default,
        "help": text or "Not described by the package.",
        "help_zh": text or "软件包未作说明。",
        "decides_speed": True,  # unknown, so runs that differ in it are not compared
    }


def _inferred_type(value: Scalar) -> tuple[ParameterType, Scalar]:
    text = str(value)
    # "1e3" or "007" stay text: the boot file would get another argument than upstream passes.
    if text in ("True", "False"):
        return ParameterType.BOOL, text == "True"
    for kind, read in ((ParameterType.INT, int), (ParameterType.FLOAT, float)):
        try:
            number: float = read(text)
        except ValueError:
            continue
        if str(number) == text and math.isfinite(number):
            return kind, number
    return ParameterType.STR, text


def _to_plain(model: Any) -> dict[str, Any]:
    answers: dict[str, Any] = model.model_dump(mode="json", exclude_defaults=True)
    return answers
