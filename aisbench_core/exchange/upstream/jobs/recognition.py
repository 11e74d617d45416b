"""Reads configurations of any tool: what a file is, its content says, not its name."""

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message, join_parts, make_verbatim
from aisbench_core.domain.authoring.config_file import ConfigFile, decode_text
from aisbench_core.exchange.upstream.configs.contents import (
    Document,
    ForeignJob,
    LineFinding,
    Literal,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.keys import DICTS
from aisbench_core.exchange.upstream.configs.literals import parse_source
from aisbench_core.exchange.upstream.configs.reading import read_document
from aisbench_core.exchange.upstream.jobs.describing import describe_job
from aisbench_core.exchange.upstream.jobs.hcl import HclBlock, parse_blocks
from aisbench_core.exchange.upstream.jobs.names import JobKind
from aisbench_core.exchange.upstream.jobs.rank_tables import is_rank_table, read_rank_table
from aisbench_core.exchange.upstream.jobs.scripts import finds_estimator, read_script
from aisbench_core.exchange.upstream.jobs.trees import get_child, is_json, parse_notebook, parse_tree

_UPSTREAM = re.compile(rf"^[ \t]*+(?:{'|'.join(DICTS)})[ \t]*+(?::[^\n=]*+)?=", re.MULTILINE)
_TERRAFORM = re.compile(
    r"^[ \t]*+(?:resource|module|variable|provider|data|locals|terraform|output)\b[^\n={]*+\{", re.M
)
_RESOURCE = "_modelarts_training_job"  # of huaweicloud, and of the providers of other clouds with the same API
_V1_KEYS = {"app_url", "boot_file_url", "worker_server_num", "train_url", "user_image_url", "user_command", "data_url"}
_MA_CLI_KEYS = {
    *("train-instance-type", "train-instance-count", "framework-type", "framework-version", "boot-file", "code-dir"),
    *("data-url", "user-command", "image-url"),
}
_OF_SCRIPTS = {"data_url", "train_url", "data-url"}  # which scripts' own configurations have, too


@dataclass(frozen=True)
class SourceText:
    """The text of a file, as whatever it can be read as."""

    name: str
    text: str

    @cached_property
    def module(self) -> ast.Module | None:
        """As Python, also the code of a notebook; None if it is none."""
        try:
            return parse_source(parse_notebook(self.text) or self.text, self.name)
        except ConfigError:
            return None

    @cached_property
    def tree(self) -> Literal:
        """As JSON or YAML; nothing if it is neither."""
        try:
            return parse_tree(self.text, self.name)
        except ConfigError:
            return Literal(None, 1)

    @property
    def keys(self) -> Mapping[str, Literal]:
        """The entries of a document that is a mapping."""
        return self.tree.value if isinstance(self.tree.value, Mapping) else {}


Read = Callable[[SourceText, list[LineFinding]], list[ForeignJob]]


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of files that describe jobs."""

    kind: JobKind
    title: Message
    recognizes: Callable[[SourceText], bool]
    read: Read


def read_configuration(files: Sequence[ConfigFile]) -> Document:
    """The content of a configuration: the files of ais-bench-stubs, or one file of another tool.

    Raises ConfigError, which names what a file looks like and what is read, for any other file."""
    others = [file for file in files if PurePath(file.name).suffix != ".sh"]
    if len(others) != 1 or len(files) > 1:
        return read_document(files)
    text = textwrap.dedent(decode_text(others[0]))
    if _UPSTREAM.search(text):
        return read_document(files)
    source = SourceText(others[0].name, text)
    kind = next((kind for kind in KINDS if kind.recognizes(source)), None)
    if kind is None:
        raise _make_refusal(source)
    findings: list[LineFinding] = []
    jobs = kind.read(source, findings)
    ordered = tuple(sorted(findings, key=lambda finding: finding.line))
    return Document(source.name, {}, findings=ordered, jobs=tuple(_name_jobs(jobs)), kind=kind.kind)


def describe_reply(reply: Literal, name: str) -> Document:
    """A job of a region, as its API describes it, as such a document."""
    kind = JobKind.V2 if get_child(reply, "algorithm") is not None else JobKind.V1
    findings: list[LineFinding] = []
    job = describe_job(kind, reply, "", findings)
    return Document(name, {}, findings=tuple(findings), jobs=(job,), kind=kind)


def _name_jobs(jobs: list[ForeignJob]) -> Iterator[ForeignJob]:
    """One alone needs no name; several need different ones."""
    for number, job in enumerate(jobs, start=1):
        source = "" if len(jobs) == 1 else job.source or f"job {number}"
        taken = sum(other.source == job.source for other in jobs) > 1
        yield ForeignJob(
            f"{source} ({number})" if taken and source else source, job.line, job.api, job.values, job.names
        )


# --- recognising and reading ------------------------------------------------------------------------------


def _is_v2(source: SourceText) -> bool:
    return any(map(_is_v2_job, _list_documents(source)))


def _is_v2_job(tree: Literal) -> bool:
    keys = tree.value if isinstance(tree.value, Mapping) else {}
    algorithm = get_child(tree, "algorithm")
    described = algorithm is not None and isinstance(algorithm.value, Mapping)
    return described or ("apiVersion" not in keys and get_child(tree, "spec", "resource") is not None)


def _list_documents(source: SourceText) -> tuple[Literal, ...]:
    """The document, or the items of a list, as an API's list of jobs has them."""
    items = source.keys.get("items") or source.keys.get("jobs") or source.tree
    return items.value if isinstance(items.value, tuple) else (source.tree,)


def _read_v2(source: SourceText, findings: list[LineFinding]) -> list[ForeignJob]:
    jobs = [tree for tree in _list_documents(source) if _is_v2_job(tree)]
    return [describe_job(JobKind.V2, tree, _name_of(tree), findings) for tree in jobs]


def _name_of(tree: Literal) -> str:
    name = get_child(tree, "metadata", "name")
    return name.value if name is not None and isinstance(name.value, str) else ""


def _is_v1(source: SourceText) -> bool:
    config = source.keys.get("config")
    inner = config.value if config is not None and isinstance(config.value, Mapping) else source.keys
    is_certain = "config" in source.keys or len(_V1_KEYS & inner.keys()) > 1
    return is_certain and bool((_V1_KEYS - _OF_SCRIPTS) & inner.keys())


def _read_v1(source: SourceText, findings: list[LineFinding]) -> list[ForeignJob]:
    return [describe_job(JobKind.V1, source.tree, "", findings)]


def _spell_ma_cli(keys: Iterable[str]) -> set[str]:
    return {key.replace("_", "-") for key in keys}


def _is_ma_cli(source: SourceText) -> bool:
    is_own = "workload" in source.keys  # a spec of this console
    return not is_own and bool((_MA_CLI_KEYS - _OF_SCRIPTS) & _spell_ma_cli(source.keys))


def _read_ma_cli(source: SourceText, findings: list[LineFinding]) -> list[ForeignJob]:
    spelt = {key.replace("_", "-"): value for key, value in source.keys.items()}
    return [describe_job(JobKind.MA_CLI, Literal(spelt, 1), "", findings)]


def _is_script(source: SourceText) -> bool:
    return source.module is not None and finds_estimator(source.module)


def _read_scripts(source: SourceText, findings: list[LineFinding]) -> list[ForeignJob]:
    if source.module is None:
        return []
    jobs, keys, found = read_script(source.module)
    findings.extend(found)
    return [describe_job(kind, tree, f"line {tree.line}", findings, keys) for kind, tree in jobs]


def _list_resources(source: SourceText) -> list[HclBlock]:
    blocks = parse_blocks(source.text, source.name) if _TERRAFORM.search(source.text) else []
    return [block for block in blocks if block.kind == "resource" and "".join(block.labels[:1]).endswith(_RESOURCE)]


def _is_terraform(source: SourceText) -> bool:
    return bool(_TERRAFORM.search(source.text)) and _RESOURCE in source.text


def _read_terraform(source: SourceText, findings: list[LineFinding]) -> list[ForeignJob]:
    keys = list(_iterate_provider_keys(parse_blocks(source.text, source.name), findings))
    blocks = _list_resources(source)
    if not blocks:
        raise _make_refusal(source)
    return [describe_job(JobKind.TERRAFORM, block.body, ".".join(block.labels), findings, keys) for block in blocks]


def _iterate_provider_keys(blocks: list[HclBlock], findings: list[LineFinding]) -> Iterator[str]:
    for block in blocks:
        for name in ("access_key", "secret_key", "token", "password") if block.kind == "provider" else ():
            entry = get_child(block.body, name)
            if entry is not None and isinstance(entry.value, str) and entry.value:
                message = Message("{names} are keys of the account, and are left out", names=name)
                hint = Message("store them with the profile: a spec holds none")
                findings.append(make_finding("job.secret", f"provider.{name}", message, entry.line, hint))
                yield entry.value


KINDS = (
    FileKind(JobKind.SDK, Message("Python scripts and notebooks with the SDK's Estimator"), _is_script, _read_scripts),
    FileKind(JobKind.TERRAFORM, Message("Terraform"), _is_terraform, _read_terraform),
    FileKind(
        JobKind.RANK_TABLE,
        Message("rank tables"),
        lambda source: is_rank_table(source.tree),
        lambda source, findings: [read_rank_table(source.tree, findings)],
    ),
    FileKind(JobKind.V2, Message("JSON of API v2"), _is_v2, _read_v2),
    FileKind(JobKind.V1, Message("JSON of API v1"), _is_v1, _read_v1),
    FileKind(JobKind.MA_CLI, Message("YAML of `ma-cli ma-job submit`"), _is_ma_cli, _read_ma_cli),
)


# --- refusing ---------------------------------------------------------------------------------------------


def _make_refusal(source: SourceText) -> ConfigError:
    looks = next((look for look, is_meant in _LOOKS if is_meant(source)), Message("text of no kind that is known"))
    message = Message("{file} looks like {look}, and describes no training job", file=source.name, look=looks)
    kinds = join_parts(", ", [make_verbatim("modelarts_config.py"), *(kind.title for kind in KINDS)])
    return ConfigError(message, Message("these are read: {kinds}", kinds=kinds))


def _is_mapping_with(*keys: str) -> Callable[[SourceText], bool]:
    return lambda source: all(key in source.keys for key in keys)


_TABLE = re.compile(r"[^\n,\t;]*+(?:[,\t;][^\n,\t;]*+){2,}\n")
_LOG = re.compile(r"^\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T]|^\[?(?:INFO|WARNING|ERROR)\b", re.MULTILINE)
_LOOKS: tuple[tuple[Message, Callable[[SourceText], bool]], ...] = (
    (Message("an empty file"), lambda source: not source.text.strip()),
    (
        Message("a spec of this console, which `aisbench run` launches"),
        _is_mapping_with("workload"),
    ),
    (Message("a Kubernetes manifest"), _is_mapping_with("apiVersion", "kind")),
    (Message("a configuration of DeepSpeed"), _is_mapping_with("train_batch_size")),
    (Message("a Compose file"), _is_mapping_with("services")),
    (Message("Terraform without a training job"), lambda source: bool(_TERRAFORM.search(source.text))),
    (Message("a notebook without an Estimator"), lambda source: bool(parse_notebook(source.text))),
    (Message("a JSON document"), lambda source: is_json(source.text)),
    (Message("a web page or XML"), lambda source: source.text.lstrip().startswith("<")),
    (Message("a shell script"), lambda source: source.text.startswith("#!") and "sh" in source.text.split("\n")[0]),
    (Message("a log"), lambda source: bool(_LOG.search(source.text))),
    (Message("a table"), lambda source: bool(_TABLE.match(source.text))),
    (Message("a YAML document"), lambda source: bool(source.keys)),
    (
        Message("a Python script that neither assigns {names} nor calls an Estimator", names=", ".join(DICTS)),
        lambda source: source.module is not None and bool(source.module.body),
    ),
)
