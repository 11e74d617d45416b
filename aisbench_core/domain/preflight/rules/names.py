"""Preflight rules about the job's name, its description and its environment variables."""

import re
from collections.abc import Iterator, Mapping

from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.model import Level, Mode

LONGEST_JOB_NAME = 64  # metadata.name of API v2, job_name of v1
RUN_ID_LENGTH = len("r20261121-013455-9f3ab7")  # at the end of every job name, so that a run finds its job again
LONGEST_NAME = LONGEST_JOB_NAME - RUN_ID_LENGTH - 1
LONGEST_DESCRIPTION = 256
MOST_ENVIRONMENTS = 100  # algorithm.environments of API v2, with the limits of the next two lines
LONGEST_KEY = 8192
LONGEST_VALUE = 4096

_NAME = re.compile(r"[A-Za-z0-9_-]+")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PLATFORM = """
    MA_HOME MA_MOUNT_PATH MA_JOB_DIR MA_LOG_DIR MA_SCRIPT_INTERPRETER MA_CURRENT_IP MA_CURRENT_HOST_IP
    MA_NUM_GPUS MA_TASK_NAME MA_NUM_HOSTS MA_CURRENT_INSTANCE_NAME MA_VJ_NAME MA_INPUTS MA_OUTPUTS
    MA_ENGINE_VERSION VC_WORKER_NUM VC_TASK_INDEX VC_WORKER_HOSTS WORKSPACE S3_ENDPOINT S3_VERIFY_SSL
    S3_USE_HTTPS RANK_TABLE_FILE RANK_TABLE_FILE_V_1_0 ASCEND_DEVICE_ID DEVICE_ID RANK_ID RANK_SIZE JOB_ID
    ASCEND_PROCESS_LOG_PATH SINGLESERVER_MODE AISBENCH_RUN_ID
"""
# Set by the platform, the console or the spec's mode for every process.
PLATFORM_VARIABLES = frozenset(_PLATFORM.split())

_SWITCH = {"0": "OFF", "1": "ON"}
# The variables for log levels, with the meaning of each value.
LOG_LEVELS: Mapping[str, Mapping[str, str]] = {
    "GLOG_v": {"0": "INFO", "1": "WARNING", "2": "ERROR", "3": "FATAL"},
    "ASCEND_GLOBAL_LOG_LEVEL": {"0": "DEBUG", "1": "INFO", "2": "WARNING", "3": "ERROR", "4": "NULL"},
    "ASCEND_GLOBAL_EVENT_ENABLE": _SWITCH,
    "ASCEND_SLOG_PRINT_TO_STDOUT": _SWITCH,
}


@rule("name.characters", Level.ERROR, "name", Source.API)
def name_characters(subject: Subject) -> Iterator[Violation]:
    """The job's name consists of letters, digits, `_` and `-`."""
    start = subject.spec.name or subject.spec.workload
    if not _NAME.fullmatch(start):
        yield Violation(
            Message("a job name cannot start with {start!r}; allowed: letters A-Z a-z, digits, _ and -", start=start)
        )


@rule("name.length", Level.ERROR, "name", Source.API)
def name_length(subject: Subject) -> Iterator[Violation]:
    """The job's name has at most 64 characters, including the run's id at its end."""
    start = subject.spec.name or subject.spec.workload
    if len(start) > LONGEST_NAME:
        message = Message(
            "the name has {length} characters; allowed: {allowed}, because the run's id is added "
            "and a job's name has at most {most}",
            length=len(start),
            allowed=LONGEST_NAME,
            most=LONGEST_JOB_NAME,
        )
        yield Violation(message, fix=(("name", start[:LONGEST_NAME]),))


@rule("description.length", Level.ERROR, "description", Source.API)
def description_length(subject: Subject) -> Iterator[Violation]:
    """The description has at most 256 characters."""
    length = len(subject.spec.description)
    if length > LONGEST_DESCRIPTION:
        message = Message(
            "the description has {length} characters; allowed: {allowed}", length=length, allowed=LONGEST_DESCRIPTION
        )
        yield Violation(message, fix=(("description", subject.spec.description[:LONGEST_DESCRIPTION]),))


@rule("environments.count", Level.ERROR, "environments", Source.API)
def environments_count(subject: Subject) -> Iterator[Violation]:
    """At most 100 environment variables are set, including those for the run's id, mode and log levels."""
    count = len(subject.spec.environments) + len(subject.spec.secrets)
    # AISBENCH_RUN_ID is always there.
    allowed = MOST_ENVIRONMENTS - 1 - len(subject.spec.variables)
    if count > allowed:
        message = Message(
            "{count} environment variables are given; allowed: {allowed} besides the console's own",
            count=count,
            allowed=allowed,
        )
        yield Violation(message)


@rule("environments.key", Level.ERROR, "environments", Source.GUIDE)
def environments_key(subject: Subject) -> Iterator[Violation]:
    """Each environment variable's name consists of letters, digits and `_`, and does not start with a digit."""
    for key in subject.spec.environments:
        if not VARIABLE_NAME.fullmatch(key) or len(key) > LONGEST_KEY:
            message = Message(
                "{name!r} is not a variable name; allowed: A-Z a-z 0-9 _, not starting with a digit, at "
                "most {most} characters",
                name=key[:80],
                most=LONGEST_KEY,
            )
            yield Violation(message, "", f"environments.{key[:80]}")


@rule("environments.value", Level.ERROR, "environments", Source.GUIDE)
def environments_value(subject: Subject) -> Iterator[Violation]:
    """Each environment variable's value has at most 4096 characters and no NUL."""
    for key, value in subject.spec.environments.items():
        if len(value) > LONGEST_VALUE:
            message = Message(
                "the value has {length} characters; allowed: {allowed}", length=len(value), allowed=LONGEST_VALUE
            )
            yield Violation(message, "", f"environments.{key[:80]}")
        if "\0" in value:  # execve() takes C strings
            hint = Message("leave it out")
            yield Violation(Message("the value contains a NUL character"), hint, f"environments.{key[:80]}")


@rule("environments.log-level", Level.WARNING, "environments", Source.UPSTREAM)
def environments_log_level(subject: Subject) -> Iterator[Violation]:
    """Each log level is a number that MindSpore (GLOG_v) or CANN (ASCEND_*) accepts."""
    for key, meanings in LOG_LEVELS.items():
        value = subject.spec.environments.get(key)
        if value is not None and value not in meanings:
            allowed = ", ".join(f"{level} {meaning}" for level, meaning in meanings.items())
            # People write WARNING where the variable wants 1.
            named = next((level for level, meaning in meanings.items() if meaning == value.upper()), "")
            field = f"environments.{key}"
            fix = ((field, named),) if named else ()
            message = Message("{name} is {found!r}; allowed: {allowed}", name=key, found=value[:80], allowed=allowed)
            yield Violation(message, "", field, fix)


@rule("environments.reserved", Level.ERROR, "environments", Source.GUIDE)
def environments_reserved(subject: Subject) -> Iterator[Violation]:
    """No environment variable is one that the platform sets."""
    for key in subject.spec.environments:
        if key in PLATFORM_VARIABLES:
            is_mode = key == "SINGLESERVER_MODE"
            hint = Message("set mode: single_server instead") if is_mode else Message("leave it out")
            mode = (("mode", Mode.SINGLE_SERVER),) if is_mode else ()
            fix = ((f"environments.{key}", None), *mode)
            message = Message("{name} is set by the platform for every process", name=key)
            yield Violation(message, hint, f"environments.{key}", fix)
