"""From a job as another tool describes it to a spec, with findings about what was not understood."""

import shlex
from collections.abc import Mapping
from typing import Any

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.config.flavor_names import cards_in_name
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.exchange.upstream.configs.contents import ForeignJob, Hints, ImportedSpec, LineFinding, package_name
from aisbench_core.exchange.upstream.configs.keys import INPUT
from aisbench_core.exchange.upstream.configs.session import UNKNOWN_WORKLOAD, convert_value
from aisbench_core.exchange.upstream.configs.workload_detection import version_of, workload_of
from aisbench_core.exchange.upstream.jobs.names import CARDS, CODE
from aisbench_core.exchange.upstream.jobs.values import JobReader, to_obs_path
from aisbench_core.model import CannLevel, MindSporeLevel, Mode, RunSpec, Scalar, TrainingMode

_TEXTS = (
    *("name", "description", "engine_name", "engine_version", "image_url", "command", "working_dir", "flavor"),
    *("local_code_dir", "pool_id", "algorithm", "subscription_id", "item_version_id"),
)
_NUMBERS = ("node_count", "auto_stop_hours", "priority", "retries")
_SWITCHES = ("retry_always", "retry_on_hang")
_CONDA = ("export PATH=", "/bin:$PATH; ")  # what the console puts around an environment, before the command
_COMMON = ("train.py", "main.py", "run.py", "start.py")  # names of boot files that say nothing about a workload


def understand_job(job: ForeignJob, workloads: Workloads, hints: Hints, findings: list[LineFinding]) -> ImportedSpec:
    """The spec of a job, without what a spec refuses.

    Raises ConfigError if a workload or version in the hints does not exist."""
    reader = JobReader(job, findings)
    parameters = reader.parameters()
    code, boot_file = to_obs_path(reader.text(CODE)), _read_boot_file(reader)
    workload = _find_workload(reader, boot_file, parameters, workloads, hints)
    version = _find_version(reader, workload, parameters, hints) if workload else ""
    declared = workload.edition(version).parameters if workload else {}
    answers: dict[str, Any] = {
        **{field: reader.text(field) for field in _TEXTS},
        **{field: reader.whole_number(field) for field in _NUMBERS},
        **{field: reader.is_true(field) for field in _SWITCHES},
        "workload": workload.name if workload else UNKNOWN_WORKLOAD,
        "framework_version": version,
        "parameters": {
            name: convert_value(value, declared[name]) if name in declared else value
            for name, value in parameters.items()
        },
        "inputs": reader.channels("inputs") + _read_data(reader),
        "outputs": reader.channels("outputs"),
        "volumes": reader.volumes(),
        "code_dir": hints.code_dir,
        "boot_file": boot_file,
        "log_path": to_obs_path(reader.text("log_path")),
        "api": job.api,
        "imported": True,  # so that an export gives the same job
        **_read_variables(reader.environments()),
    }
    folder, mark, command = answers["command"].partition(_CONDA[1])
    if mark and folder.startswith(_CONDA[0]):
        answers["conda_env"], answers["command"] = _strip_quotes(folder.removeprefix(_CONDA[0])), command
    if code and not hints.code_dir and not (workload and workload.ships_code):
        message = Message("is a directory in OBS; the directory to upload from this machine is not known")
        reader.report("config.code-dir", CODE, message, Message("set the spec's code_dir"))
    answers[CARDS] = _find_cards(reader, answers)
    return ImportedSpec(job.source, _check_answers(reader, answers), {})


def _strip_quotes(text: str) -> str:
    try:
        return "".join(shlex.split(text))
    except ValueError:  # a quote that is not closed
        return text


def _read_data(reader: JobReader) -> list[dict[str, Any]]:
    path = to_obs_path(reader.text("data"))
    return [{"name": INPUT, "path": path}] if path else []


def _read_boot_file(reader: JobReader) -> str:
    """The boot file relative to the code; empty if it is outside."""
    boot, code = to_obs_path(reader.text("boot_file")), to_obs_path(reader.text(CODE))
    if not boot.startswith("/"):
        return boot.removeprefix("./")
    root = code if code.endswith("/") else f"{code}/"
    if code and boot.startswith(root):
        return boot.removeprefix(root).strip("/ ")
    # Of a directory below the code, tools keep the directory's own name.
    message = Message("{file!r} is not in code_dir {folder!r}", file=boot, folder=code)
    reader.report("config.boot-file", "boot_file", message)
    return ""


def _find_workload(
    reader: JobReader, boot_file: str, parameters: Mapping[str, Scalar], workloads: Workloads, hints: Hints
) -> Workload | None:
    """The workload of the hints or the package, or the one that more than a boot file of a common name speaks for.

    A wrong one would bring its defaults and its definition of throughput."""
    texts = " ".join(reader.text(field) for field in ("name", "description", CODE)).lower()

    def may_be(workload: Workload) -> bool:
        declared = {name for version in workload.versions for name in workload.edition(version).parameters}
        named = workload.name.rpartition("_")[2] in texts or boot_file not in _COMMON
        return not (workload.ships_code and reader.text(CODE)) and (named or bool(declared & parameters.keys()))

    package = package_name(hints.package)
    engine = reader.text("engine_version")
    workload = workload_of(boot_file, engine, parameters.keys(), workloads, hints, package, may_be)
    if workload is None:
        message = Message("the file does not say which workload it is for")
        hint = Message("choose one of: {known}", known=", ".join(workloads.names()))
        reader.report("config.workload", "boot_file", message, hint)
    elif not (hints.workload or package):
        message = Message("boot file and engine fit {workload}", workload=workload.name)
        reader.report("job.workload", "boot_file", message, Message("choose another workload if it is another"))
    return workload


def _find_version(reader: JobReader, workload: Workload, parameters: Mapping[str, Scalar], hints: Hints) -> str:
    clues = version_of(workload, reader.text("engine_version"), parameters, hints, package_name(hints.package))
    if not clues.version:
        message = Message("the framework version of {workload} is not known", workload=workload.name)
        hint = Message("choose one of: {possible}", possible=", ".join(clues.possible))
        reader.report("config.version", "engine_version", message, hint)
    return clues.version


def _read_variables(environments: dict[str, str]) -> dict[str, Any]:
    """The fields behind variables that the console itself sets, and all other variables."""
    single = environments.pop("SINGLESERVER_MODE", "").lower() == "true"
    environments.pop("AISBENCH_RUN_ID", None)
    levels = {
        "cann": _pick_value(list(CannLevel), environments, "ASCEND_GLOBAL_LOG_LEVEL"),
        "mindspore": _pick_value(list(MindSporeLevel), environments, "GLOG_v"),
        "events": _pick_value([False, True], environments, "ASCEND_GLOBAL_EVENT_ENABLE"),
        "stdout": _pick_value([False, True], environments, "ASCEND_SLOG_PRINT_TO_STDOUT"),
    }
    mode = _pick_word(environments, "MA_RUN_MODE_ENV", "performance") and TrainingMode.PERFORMANCE
    faults = _pick_word(environments, "MA_DIAG_MODE_ENV", "faults") and TrainingMode.DIAGNOSIS
    return {
        "mode": Mode.SINGLE_SERVER if single else Mode.CLUSTER,
        "log_levels": {name: level for name, level in levels.items() if level is not None},
        "training_mode": mode or faults or TrainingMode.GENERAL,
        "environment_check": _pick_value([False, True], environments, "MA_SKIP_IMAGE_DETECT"),
        "environments": environments,
    }


def _pick_value(choices: list[Any], environments: dict[str, str], name: str) -> Any:
    """What a variable's number stands for; None, and the variable stays, if it is none of these."""
    number = environments.get(name, "")
    if not (number.isdecimal() and int(number[:3]) < len(choices)):
        return None
    del environments[name]
    return choices[int(number)]


def _pick_word(environments: dict[str, str], name: str, word: str) -> bool:
    if environments.get(name) != word:
        return False
    del environments[name]
    return True


def _find_cards(reader: JobReader, answers: Mapping[str, Any]) -> int | None:
    """Cards per node as stated, else of the flavor; None if unknown: they are never guessed."""
    cards = reader.whole_number(CARDS) or cards_in_name(answers["flavor"])
    if not cards and answers["flavor"]:
        message = Message("the number of cards of {flavor!r} is unknown", flavor=answers["flavor"])
        reader.report("config.cards", "flavor", message, Message("set cards_per_node"))
    return cards or None


def _check_answers(reader: JobReader, answers: Mapping[str, Any]) -> RunSpec:
    """The spec of all answers that are valid; the others are findings, and not set."""
    accepted = {field: answer for field, answer in answers.items() if answer not in (None, "", [], {})}
    # In a loop, because removing an invalid field can reveal another problem.
    while True:
        try:
            return parse_document(RunSpec, accepted, make_verbatim(reader.job.source or "job"))
        except SpecError as error:
            for problem in error.problems:
                reader.refuse(problem)
                accepted.pop(problem.field.partition(".")[0], None)
