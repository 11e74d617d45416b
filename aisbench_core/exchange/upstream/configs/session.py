"""Reads typed values of a dict, and converts a session_config to a RunSpec."""

import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Hint, Message, make_verbatim
from aisbench_core.config.flavor_names import cards_in_name
from aisbench_core.domain.authoring.manifest import Parameter, ParameterType
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.exchange.upstream.configs.contents import (
    Assigned,
    Hints,
    ImportedSpec,
    LineFinding,
    Literal,
    NotLiteral,
    PackageName,
    ShellConfig,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.keys import APIS, INPUT, LISTS, NAS, OUTPUT
from aisbench_core.exchange.upstream.configs.literals import quote_key
from aisbench_core.exchange.upstream.configs.workload_detection import version_of, workload_of
from aisbench_core.model import Mode, RunSpec, Scalar
from aisbench_core.model.spec_fields import get_declaration


class ConfigReader:
    """Reads one dict key by key. A value of the wrong type is a finding, and counts as not set."""

    def __init__(self, assigned: Assigned, findings: list[LineFinding]) -> None:
        self.name = assigned.name
        self.line = assigned.line
        self._entries = assigned.entries
        self._findings = findings

    def text(self, key: str) -> str:
        """Stripped text; empty if not set (None, '')."""
        entry = self._get_entry(key)
        if entry is None:
            return ""
        if not isinstance(entry.value, str):
            self.report("config.type", key, Message("must be text (found {found})", found=_describe_kind(entry)))
            return ""
        return entry.value.strip()

    def whole_number(self, key: str) -> int | None:
        """A whole number; None if not set."""
        entry = self._get_entry(key)
        if entry is None:
            return None
        if isinstance(entry.value, int) and not isinstance(entry.value, bool):
            return entry.value
        message = Message("must be a whole number (found {found})", found=_describe_kind(entry))
        self.report("config.type", key, message, Message("write it without quotes"))
        return None

    def secret(self, key: str) -> SecretStr | None:
        """A key of the account; None if not set."""
        entry = self._entries.get(key)
        secret = entry.value if entry else None
        if isinstance(secret, SecretStr) and secret.get_secret_value().strip():
            return SecretStr(secret.get_secret_value().strip())
        return None

    def parameters(self, key: str, label: str) -> list[tuple[str, Scalar, str, int]]:
        """Name, value, comment and line of each parameter in a list such as `[{'name': …, 'value': …}]`."""
        entry = self._get_entry(key)
        if entry is None:
            return []
        if not isinstance(entry.value, tuple):
            self.report("config.type", key, Message("must be a list (found {found})", found=_describe_kind(entry)))
            return []
        parameters: dict[str, tuple[str, Scalar, str, int]] = {}
        for index, item in enumerate(entry.value):
            parameter = self._read_parameter(f"{key}[{index}]", item, label)
            if parameter is None:
                continue
            if first := parameters.get(parameter[0]):
                message = Message("is given twice (first in line {line}); the last one counts", line=first[3])
                self.report("config.duplicate", f"{key}.{quote_key(parameter[0])}", message, line=item.line)
            parameters[parameter[0]] = parameter
        return list(parameters.values())

    def report(self, rule: str, key: str, message: Message, hint: Hint = "", line: int = 0) -> None:
        """Add a finding about a key."""
        field = f"{self.name}.{key}" if key else self.name
        self._findings.append(make_finding(rule, field, message, line or self.line_of(key), hint))

    def refuse(self, problem: Problem, key: str) -> None:
        """Add a finding about a value that a spec or a profile refuses."""
        message = problem.message
        if problem.value:
            message = Message("{problem} (found {found})", problem=message, found=problem.value)
        self.report("config.range", key, message)

    def line_of(self, key: str) -> int:
        """The line of a key; the line of the dict if the key is missing."""
        return self._entries[key].line if key in self._entries else self.line

    def _get_entry(self, key: str) -> Literal | None:
        entry = self._entries.get(key)
        return None if entry is None or entry.value is None or isinstance(entry.value, NotLiteral) else entry

    def _read_parameter(self, field: str, item: Literal, label: str) -> tuple[str, Scalar, str, int] | None:
        if isinstance(item.value, NotLiteral):
            return None
        entries = item.value if isinstance(item.value, dict) else {}
        name, value = (entries[key].value if key in entries else None for key in (label, "value"))
        if isinstance(name, NotLiteral):
            return None
        if not isinstance(name, str) or not name.strip() or "value" not in entries or len(entries) > 2:
            message = Message("must be {{'{label}': 'a name', 'value': 'a value'}}", label=label)
            self.report("config.type", field, message, line=item.line)
            return None
        field = f"{field.partition('[')[0]}.{quote_key(name.strip())}"
        if isinstance(value, NotLiteral) or value is None:
            return None
        if not isinstance(value, str | bool | int | float):
            message = Message("must be text (found {found})", found=_describe_kind(entries["value"]))
            self.report("config.type", field, message, line=item.line)
            return None
        text = value.strip() if isinstance(value, str) else value
        return name.strip(), text, item.comment, item.line


def _describe_kind(literal: Literal) -> Message:
    if isinstance(literal.value, str):
        return Message("text")
    if isinstance(literal.value, tuple | dict):
        return Message("a list") if isinstance(literal.value, tuple) else Message("a dict")
    return make_verbatim(repr(literal.value)[:80])


UNKNOWN_WORKLOAD = "unknown"  # asks whoever opens the draft: no workload has this name
NFS = "nfs"
# The key behind each field of a spec.
KEYS = {name: key for name in RunSpec.model_fields if (key := get_declaration(name).upstream)}

_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")


def spec_of(
    reader: ConfigReader, workloads: Workloads, hints: Hints, package: PackageName | None, shell: ShellConfig
) -> ImportedSpec:
    """The spec, with findings for what cannot be imported.

    Raises ConfigError if a workload or version in the hints does not exist."""
    parameters = reader.parameters(*LISTS[reader.name])
    boot_file, engine = boot_file_of(reader), reader.text("framework_version")
    workload = workload_of(boot_file, engine, [name for name, *_ in parameters], workloads, hints, package)
    if workload is None:
        message = Message(
            "boot file {file!r} and engine {engine!r} do not identify the workload", file=boot_file, engine=engine
        )
        hint = Message("choose one of: {known}", known=", ".join(workloads.names()))
        reader.report("config.workload", "boot_file", message, hint)
    version = workload and _find_version(
        reader, workload, {name: value for name, value, *_ in parameters}, hints, package
    )
    declared = workload.edition(version or "").parameters if workload else {}
    answers: dict[str, Any] = {
        **{field: reader.text(key) for field, key in KEYS.items() if RunSpec.model_fields[field].default == ""},
        "workload": workload.name if workload else UNKNOWN_WORKLOAD,
        "framework_version": version,
        "parameters": {name: convert_value(value, declared.get(name)) for name, value, *_ in parameters},
        "inputs": [{"name": INPUT, "path": path}] if (path := reader.text("inputs")) else [],
        "outputs": [{"name": OUTPUT, "path": path}] if (path := reader.text("out_base_url")) else [],
        "code_dir": hints.code_dir,
        "boot_file": boot_file,
        "node_count": reader.whole_number("train_instance_count"),
        "mode": Mode.SINGLE_SERVER if shell.single_server else Mode.CLUSTER,
        "log_levels": shell.levels.model_dump(exclude_none=True),
        "volumes": _read_volumes(reader),
        "api": APIS[reader.name],
        "imported": True,  # so that an export gives the same file back
    }
    if not hints.code_dir and not (workload and workload.ships_code):
        message = Message("is a directory in OBS; the directory to upload from this machine is not known")
        hint = Message("set the spec's code_dir to the package's code/code")
        reader.report("config.code-dir", "code_dir", message, hint)
    answers["cards_per_node"] = _find_cards(reader, answers)
    comments = {name: comment for name, _, comment, _ in parameters if comment}
    return ImportedSpec(reader.name, _check_answers(reader, answers), comments)


def convert_value(value: Scalar, parameter: Parameter | None) -> Scalar:
    """A parameter's value in the type that the workload declares if possible, otherwise as text."""
    text = str(value)
    kind = parameter.type if parameter else ParameterType.STR
    if kind is ParameterType.BOOL and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind in (ParameterType.INT, ParameterType.FLOAT) and _WHOLE.fullmatch(text):
        return int(text)
    if kind is ParameterType.FLOAT and _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def boot_file_of(reader: ConfigReader) -> str:
    """The boot file relative to the code directory; empty if it is not set or outside."""
    boot, code = reader.text("boot_file"), reader.text("code_dir")
    if not boot.startswith("/"):
        return boot
    root = code if code.endswith("/") else f"{code}/"
    if code and boot.startswith(root):
        return boot.removeprefix(root).strip("/ ")
    message = Message("{file!r} is not in code_dir {folder!r}", file=boot, folder=code)
    reader.report("config.boot-file", "boot_file", message)
    return ""


def _find_version(
    reader: ConfigReader,
    workload: Workload,
    parameters: Mapping[str, Scalar],
    hints: Hints,
    package: PackageName | None,
) -> str:
    engine = reader.text("framework_version")
    clues = version_of(workload, engine, parameters, hints, package)
    for clue, stronger in clues.contradictions:
        is_engine = clue.key == "framework_version"
        key = clue.key if is_engine else f"{LISTS[reader.name][0]}.{quote_key(clue.key)}"
        message = Message(
            "{clue} implies version {implied}, but {stronger} implies {other}",
            clue=clue.source,
            implied=clue.implied,
            stronger=stronger.source,
            other=stronger.implied,
        )
        hint: Hint = (
            Message("set the engine of that version, or install its MindSpore with `update`") if is_engine else ""
        )
        line = reader.line_of(key) if is_engine else reader.line_of(LISTS[reader.name][0])
        reader.report("config.contradiction", key, message, hint, line)
    if not clues.version:
        message = Message(
            "parameters, package and engine {engine!r} do not determine the framework version of {workload}",
            engine=engine,
            workload=workload.name,
        )
        hint = Message("choose one of: {possible}", possible=", ".join(clues.possible))
        reader.report("config.version", "framework_version", message, hint)
    return clues.version


def _read_volumes(reader: ConfigReader) -> list[Mapping[str, str]]:
    kind, share, mount = (reader.text(key) for key in NAS)
    if not any((kind, share, mount)):
        return []
    if not share or not mount or kind.lower() not in (NFS, ""):
        message = Message(
            "nas_type {kind!r}, nas_share_addr {share!r} and nas_mount_path {mount!r} do not define a volume",
            kind=kind,
            share=share,
            mount=mount,
        )
        key = next(key for key in NAS if reader.text(key))
        reader.report("config.volume", key, message, Message("the only type is {kind!r}", kind=NFS))
        return []
    return [{"server_path": share, "local_path": mount}]


def _find_cards(reader: ConfigReader, answers: Mapping[str, Any]) -> int | None:
    """Cards per node: from the flavor's name, else the parameter device_num. They are never guessed."""
    cards = cards_in_name(answers["flavor"]) or answers["parameters"].get("device_num")
    # device_num is text in some files, and a bool is no number of cards.
    if type(cards) is int and 1 <= cards <= 64:
        return cards
    message = Message("the number of cards of {flavor!r} is unknown", flavor=answers["flavor"])
    reader.report("config.cards", "train_instance_type", message, Message("set cards_per_node"))
    return None


def _check_answers(reader: ConfigReader, answers: Mapping[str, Any]) -> RunSpec:
    """The spec of all answers that are valid; the others are findings with their line, and not set."""
    accepted = {field: answer for field, answer in answers.items() if answer not in (None, "", [], {})}
    # In a loop, because removing an invalid field can reveal another problem.
    while True:
        try:
            return parse_document(RunSpec, accepted, make_verbatim(reader.name))
        except SpecError as error:
            for problem in error.problems:
                field, _, name = problem.field.partition(".")
                key = f"{LISTS[reader.name][0]}.{name}" if field == "parameters" else KEYS.get(field, "")
                reader.refuse(problem, key)
                accepted.pop(field, None)
