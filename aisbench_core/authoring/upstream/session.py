"""From a session_config to a RunSpec."""

import math
import re
from collections.abc import Mapping
from typing import Any

from aisbench_core.authoring.manifest import Parameter, ParameterType
from aisbench_core.authoring.preflight_rules_resources import cards_in_name
from aisbench_core.authoring.upstream.found import FoundSpec, Hints, PackageName, ShellConfig
from aisbench_core.authoring.upstream.keys import APIS, INPUT, LISTS, NAS, OUTPUT
from aisbench_core.authoring.upstream.literals import shown
from aisbench_core.authoring.upstream.taking import ConfigReader
from aisbench_core.authoring.upstream.telling import version_of, workload_of
from aisbench_core.authoring.workloads import Workload, Workloads
from aisbench_core.documents import parse
from aisbench_core.errors import SpecError
from aisbench_core.messages import Hint, Message
from aisbench_core.model import Mode, RunSpec, Scalar

ASCEND_CARDS = 8
NFS = "nfs"
TEXTS = {
    "name": "job_name",
    "description": "job_description_prefix",
    "engine_name": "framework_type",
    "engine_version": "framework_version",
    "pool_id": "pool_id",
    "flavor": "train_instance_type",
}
"""Fields of a spec that are a key's text, word for word."""

KEYS = TEXTS | {
    "node_count": "train_instance_count",
    "boot_file": "boot_file",
    "inputs": "inputs",
    "outputs": "out_base_url",
    "volumes": "nas_share_addr",
}
"""Which key decides a field of the spec."""

_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")


def spec_of(
    taking: ConfigReader, workloads: Workloads, hints: Hints, package: PackageName | None, shell: ShellConfig
) -> FoundSpec | None:
    """The spec, with findings for what cannot be taken over; None when nobody can tell the workload.

    Raises ConfigError when a workload or version that a person named does not exist."""
    taken = taking.parameters(*LISTS[taking.name])
    boot_file, engine = boot_file_of(taking), taking.text("framework_version")
    workload = workload_of(boot_file, engine, [name for name, *_ in taken], workloads, hints, package)
    if workload is None:
        message = Message(
            "boot file {file!r} and engine {engine!r} do not tell which workload this is", file=boot_file, engine=engine
        )
        taking.say(
            "config.workload",
            "boot_file",
            message,
            Message("name it; known: {known}", known=", ".join(workloads.names())),
        )
        return None
    version = _version(taking, workload, {name: value for name, value, *_ in taken}, hints, package)
    known = workload.edition(version).parameters
    answers: dict[str, Any] = {
        "workload": workload.name,
        "framework_version": version,
        "parameters": {name: typed(value, known.get(name)) for name, value, *_ in taken},
        "inputs": _channel(INPUT, taking.text("inputs")),
        "outputs": _channel(OUTPUT, taking.text("out_base_url")),
        "code_dir": _code_dir(taking, workload, hints),
        "boot_file": boot_file,
        "node_count": taking.whole_number("train_instance_count"),
        "mode": Mode.SINGLE_SERVER if shell.single_server else Mode.CLUSTER,
        "log_levels": shell.levels.model_dump(exclude_none=True),
        "volumes": _volumes(taking),
        "api": APIS[taking.name],
        "imported": True,
        **{field: taking.text(key) for field, key in TEXTS.items()},
    }
    answers["cards_per_node"] = _cards(taking, answers, workload)
    comments = {name: comment for name, _, comment, _ in taken if comment}
    return FoundSpec(taking.name, _checked(taking, answers), comments)


def typed(value: Scalar, parameter: Parameter | None) -> Scalar:
    """A parameter's value, of the type that the workload wants where that is possible; otherwise as text."""
    text = str(value)
    kind = parameter.type if parameter else ParameterType.STR
    if kind is ParameterType.BOOL and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind in (ParameterType.INT, ParameterType.FLOAT) and _WHOLE.fullmatch(text):
        return int(text)
    return _float(text) if kind is ParameterType.FLOAT else text


def _float(text: str) -> Scalar:
    if not _DECIMAL.fullmatch(text):
        return text
    number = float(text)
    return number if math.isfinite(number) else text


def boot_file_of(taking: ConfigReader) -> str:
    """The boot file relative to the code directory; empty when it is not set or not in there."""
    boot, code = taking.text("boot_file"), taking.text("code_dir")
    if not boot.startswith("/"):
        return boot
    root = code if code.endswith("/") else f"{code}/"
    if code and boot.startswith(root):
        return boot.removeprefix(root).strip("/ ")
    taking.say(
        "config.boot-file", "boot_file", Message("{file!r} does not lie in code_dir {folder!r}", file=boot, folder=code)
    )
    return ""


def _version(
    taking: ConfigReader,
    workload: Workload,
    parameters: Mapping[str, Scalar],
    hints: Hints,
    package: PackageName | None,
) -> str:
    engine = taking.text("framework_version")
    found = version_of(workload, engine, parameters, hints, package)
    for clue, stronger in found.contradictions:
        is_engine = clue.key == "framework_version"
        key = clue.key if is_engine else f"{LISTS[taking.name][0]}.{shown(clue.key)}"
        message = Message(
            "{clue} implies version {implied}, but {stronger} implies {other}",
            clue=clue.source,
            implied=clue.implied,
            stronger=stronger.source,
            other=stronger.implied,
        )
        how = Message("set the engine of that version, or install its MindSpore with `update`")
        hint: Hint = how if is_engine else ""
        line = taking.line_of(key) if is_engine else taking.line_of(LISTS[taking.name][0])
        taking.say("config.contradiction", key, message, hint, line)
    if not found.version:
        message = Message(
            "parameters, package and engine {engine!r} do not determine the framework version of {workload}",
            engine=engine,
            workload=workload.name,
        )
        taking.say(
            "config.version",
            "framework_version",
            message,
            Message("choose one of: {possible}", possible=", ".join(found.possible)),
        )
    return found.version


def _code_dir(taking: ConfigReader, workload: Workload, hints: Hints) -> str:
    if not hints.code_dir and not workload.ships_code:
        message = Message("names a directory in OBS; which directory of this machine is to be uploaded?")
        taking.say(
            "config.code-dir", "code_dir", message, Message("set the spec's code_dir to the package's code/code")
        )
    return hints.code_dir


def _channel(name: str, path: str) -> list[Mapping[str, str]]:
    return [{"name": name, "path": path}] if path else []


def _volumes(taking: ConfigReader) -> list[Mapping[str, str]]:
    kind, share, mount = (taking.text(key) for key in NAS)
    if not any((kind, share, mount)):
        return []
    if not share or not mount or kind.lower() not in (NFS, ""):
        message = Message(
            "nas_type {kind!r}, nas_share_addr {share!r} and nas_mount_path {mount!r} make no volume",
            kind=kind,
            share=share,
            mount=mount,
        )
        taking.say(
            "config.volume",
            next(key for key in NAS if taking.text(key)),
            message,
            Message("the only type is {kind!r}", kind=NFS),
        )
        return []
    return [{"server_path": share, "local_path": mount}]


def _cards(taking: ConfigReader, answers: Mapping[str, Any], workload: Workload) -> int | None:
    """Cards per node: of the flavor's name, else what the training code is told, else all cards of an Ascend node."""
    told = cards_in_name(answers["flavor"]) or answers["parameters"].get("device_num")
    if type(told) is int and 1 <= told <= 64:
        return told
    ascend = "ascend" in (answers["engine_name"] or workload.engine_name).lower()
    cards = ASCEND_CARDS if ascend else 1
    message = Message(
        "{flavor!r} does not tell how many cards a node has; {cards} is taken", flavor=answers["flavor"], cards=cards
    )
    taking.say("config.cards", "train_instance_type", message, Message("set cards_per_node if it is another number"))
    return cards


def _checked(taking: ConfigReader, answers: Mapping[str, Any]) -> RunSpec:
    """The spec of all answers that it accepts; the others are reported with their line, and left open."""
    given = {field: answer for field, answer in answers.items() if answer not in (None, "", [], {})}
    while True:
        try:
            return parse(RunSpec, given, taking.name)
        except SpecError as error:
            for problem in error.problems:
                field, _, name = problem.field.partition(".")
                key = f"{LISTS[taking.name][0]}.{name}" if field == "parameters" else KEYS.get(field, "")
                taking.refuse(problem, key)
                given.pop(field, None)
