"""From a package to the manifest of its workload: what it says, what the shipped manifests know, the rest marked."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aisbench_core.authoring.manifest import Parameter, ParameterType
from aisbench_core.authoring.packages.package import Answers, Package
from aisbench_core.authoring.upstream.found import Assigned, LineFinding, finding
from aisbench_core.authoring.upstream.keys import APIS, LISTS
from aisbench_core.authoring.upstream.session import boot_file_of, typed
from aisbench_core.authoring.upstream.taking import ConfigReader
from aisbench_core.authoring.upstream.telling import release_of
from aisbench_core.authoring.workloads import Workload, Workloads
from aisbench_core.messages import Message
from aisbench_core.model import Api, Scalar

PUBLISHER = "huawei"
"""Whose packages the shipped manifests describe: another company may train another way under the same name."""

UNKNOWN = "unknown"
FRAMEWORKS: Mapping[str, str] = {"mindspore": "MindSpore", "pytorch": "PyTorch", "tensorflow": "TensorFlow"}
LONGEST_HELP = 300
LONGEST_NAME = 41
"""With the run's id behind it, a job's name has 64 characters."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TRAIN = re.compile(r"train_([a-z]+)_(\w+)")
_OTHER_LETTERS = re.compile(r"[^A-Za-z0-9_-]+")
_ENDING = re.compile(r"\.(tar\.gz|tgz|tar)$")


@dataclass(frozen=True, slots=True)
class PackageConfig:
    """What the configuration of a package says about the job that the upstream tool would run."""

    boot_file: str = ""
    engine_name: str = ""
    engine_version: str = ""
    inputs: str = ""
    parameters: tuple[tuple[str, Scalar, str, int], ...] = ()


def told_by(package: Package) -> PackageConfig:
    """The dict that config.sh names, else that for V2, else the one there is."""
    jobs = {APIS[job.name]: job for job in _jobs(package)}
    wanted = (package.document.shell.api if package.document else None) or Api.V2
    job = jobs.get(wanted) or next(iter(jobs.values()), None)
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
    """The workload's name when nobody names it: workload and framework version; a job's name can begin with it."""
    name = package.name
    text = f"{name.workload}_{name.framework_version}" if name else _ENDING.sub("", package.source)
    return _OTHER_LETTERS.sub("_", text).strip("_-")[:LONGEST_NAME] or "package"


def version_told(package: Package, told: PackageConfig) -> str:
    """The framework version that name or engine tell."""
    return package.name.framework_version if package.name else release_of(told.engine_version) or UNKNOWN


def known_workload(package: Package, version: str, workloads: Workloads) -> Workload | None:
    """The shipped workload that describes this very package, if there is one."""
    name = package.name
    if name is None or name.company != PUBLISHER:
        return None
    names = (name.workload, name.workload.removeprefix("train_"))
    shipped = (workload for workload in workloads.all() if not workload.is_own)
    return next((each for each in shipped if each.name in names and version in each.versions), None)


def manifest_of(package: Package, answers: Answers, told: PackageConfig, known: Workload | None) -> dict[str, Any]:
    """The manifest as it is written; what it needs and nobody told is empty."""
    version = version_told(package, told)
    edition = known.edition(version) if known else None
    definition = edition.throughput_definition if edition else f"package_{package.sha256[:12]}"
    framework, model = _framework_and_model(package, told)
    engine = told.engine_version or (edition.engine_version if edition else "")
    return {
        "title": _title(package, answers),
        "summary": f"Made of the package {package.source}, with its code.",
        "summary_zh": f"由软件包 {package.source} 导入，代码来自该软件包。",
        "model": known.model if known else model,
        "framework": known.framework if known else framework,
        "boot_file": answers.boot_file or told.boot_file or (edition.boot_file if edition else ""),
        **({"engine_name": told.engine_name} if told.engine_name else {}),
        **({"throughput_unit": known.throughput_unit} if known else {}),
        "dataset": _plain(known.dataset) if known else _dataset(told),
        **({"target": _plain(known.target)} if known and known.target else {}),
        "definitions": {definition: _plain(known.definitions[definition]) if known else _definition(package)},
        "parameters": dict(_parameters(told, edition.parameters if edition else {})),
        "versions": {
            version: {"throughput_definition": definition, "engine_version": answers.engine_version or engine}
        },
        "package": _origin(package),
    }


def left_open(package: Package, told: PackageConfig, known: Workload | None) -> Iterator[LineFinding]:
    """What the manifest does not say because nobody knows it."""
    if package.name is None:
        message = Message(
            "{package!r} tells neither workload nor architecture nor framework version", package=package.source
        )
        yield finding("package.name", "package", message, hint=Message("give the file its first name back, or name it"))
    if known is None:
        hint = Message(
            "write it into definitions and dataset of the workload.yaml, and whether parameters decide speed"
        )
        message = Message("nobody tells how throughput is computed: it is compared with that of this package only")
        yield finding("package.throughput", "definitions", message, hint=hint)
    for name, _, _, line in told.parameters:
        if not _NAME.fullmatch(name):
            yield finding("package.parameter", f"parameters.{name}", Message("cannot be a parameter's name here"), line)


def missing(package: Package, manifest: Mapping[str, Any]) -> Iterator[LineFinding]:
    """What the manifest cannot do without."""
    boot_file = manifest["boot_file"]
    if boot_file not in package.scripts:
        message = Message("{file!r} is not in code/code", file=boot_file) if boot_file else Message("nothing tells it")
        known = ", ".join(package.scripts[:10]) or Message("there is no Python file")
        yield finding(
            "package.boot-file", "boot_file", message, hint=Message("name it; in code/code: {known}", known=known)
        )
    (version,) = manifest["versions"].values()
    if not version["engine_version"]:
        hint = Message("name it, such as mindspore_2.0.0-cann_6.3.0-py_3.7-euler_2.8.3-aarch64")
        yield finding("package.engine", "engine_version", Message("nothing tells it"), hint=hint)


def _jobs(package: Package) -> Sequence[ConfigReader]:
    dicts: Mapping[str, Assigned] = package.document.dicts if package.document else {}
    found = [dicts[name] for name in APIS if name in dicts and dicts[name].entries]
    return [ConfigReader(each, []) for each in found]  # its findings are those of the import that follows


def _title(package: Package, answers: Answers) -> str:
    name = package.name
    if name is None:
        return answers.name or suggested_name(package)
    return f"{name.workload} {name.framework_version} ({name.company})"


def _framework_and_model(package: Package, told: PackageConfig) -> tuple[str, str]:
    named = _TRAIN.fullmatch(package.name.workload) if package.name else None
    engine = re.match(r"[A-Za-z]+", told.engine_version)
    framework = named[1] if named else engine[0].lower() if engine else UNKNOWN
    model = named[2] if named else package.name.workload if package.name else UNKNOWN
    return FRAMEWORKS.get(framework, framework), model


def _dataset(told: PackageConfig) -> dict[str, Any]:
    """An input that the configuration names is needed; nobody knows what it must hold."""
    return {"name": UNKNOWN, "optional": not told.inputs}


def _definition(package: Package) -> dict[str, str]:
    return {
        "text": f"Not known: as the code of {package.source} computes it",
        "text_zh": f"未知：由 {package.source} 的代码计算",
    }


def _origin(package: Package) -> dict[str, str]:
    name = package.name
    told = (
        {"company": name.company, "architecture": name.architecture, "tool_version": name.tool_version} if name else {}
    )
    return {"name": package.source, **told, "sha256": package.sha256}


def _parameters(told: PackageConfig, known: Mapping[str, Parameter]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those of the configuration; without any, those that the shipped manifest knows."""
    if not told.parameters:
        yield from ((name, _plain(parameter)) for name, parameter in known.items())
    for name, value, comment, _ in told.parameters:
        if not _NAME.fullmatch(name):
            continue
        parameter = known.get(name)
        default = typed(value, parameter)
        if parameter and not parameter.complaint(default):
            yield name, {**_plain(parameter), "default": default}
        else:
            yield name, _new_parameter(value, comment)


def _new_parameter(value: Scalar, comment: str) -> dict[str, Any]:
    """A parameter of which only a value is known: it gets a type only if that says the same on the command line."""
    kind, default = _typed_alike(value)
    text = comment[:LONGEST_HELP]
    help_zh = {"help_zh": text} if text else {"help_zh": "软件包未作说明。"}
    shown = text or "The package does not say what it does."
    return {"type": str(kind), "default": default, "help": shown, **help_zh, "decides_speed": True}


def _typed_alike(value: Scalar) -> tuple[ParameterType, Scalar]:
    text = str(value)
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


def _plain(model: Any) -> dict[str, Any]:
    answers: dict[str, Any] = model.model_dump(mode="json", exclude_defaults=True)
    return answers
