"""The spec of a run, and its parts."""

import hashlib
import json
import operator
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.model.spec_roles import (
    COMPARED_ALONG,
    LABEL,
    LIMIT,
    OF_QUEUE,
    OF_RECOVERY,
    FormGroup,
    SpecField,
    SpecRole,
)

Clock = Callable[[], datetime]
"""Returns the current time, aware UTC."""

Scalar = bool | int | float | str
"""A hyperparameter's value. Strings are not converted: "90" and 90 are different values."""


class Frozen(BaseModel):
    """Base of immutable models for input of people and files; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Mode(StrEnum):
    """How nodes work together: as one cluster, or each server on its own."""

    CLUSTER = "cluster"
    SINGLE_SERVER = "single_server"


class Api(StrEnum):
    """The cloud API that creates the job."""

    V2 = "v2"
    V1 = "v1"
    SDK = "sdk"
    SDK_V1 = "sdk-v1"

    @property
    def has_versions(self) -> bool:
        """Whether it is the older API, whose jobs have versions."""
        return self in (Api.V1, Api.SDK_V1)

    @property
    def needs_package(self) -> bool:
        """Whether it is used through the package `modelarts`."""
        return self in (Api.SDK, Api.SDK_V1)


class AccessMethod(StrEnum):
    """How the training code gets a local directory: as `--name=dir`, or as environment variable `name`."""

    PARAMETER = "parameter"
    ENV = "env"


class Channel(Frozen):
    """One input or output of a job: a name the code knows and an OBS directory."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    path: Annotated[str, Field(description="OBS directory, written /bucket/directory/")] = ""
    access_method: AccessMethod = AccessMethod.PARAMETER
    prefetch: Annotated[
        bool,
        Field(exclude_if=operator.not_, description="of an output: its files are downloaded before the job starts"),
    ] = False
    local_dir: Annotated[
        str, Field(exclude_if=operator.not_, description="directory in the container, which only v2 lets choose")
    ] = ""


class Volume(Frozen):
    """A share of SFS Turbo, or a directory of a parallel file system (OBS), mounted into every node; one of both."""

    server_path: Annotated[str, Field(exclude_if=operator.not_, description="SFS Turbo: address:/path")] = ""
    pfs_path: Annotated[
        str,
        Field(exclude_if=operator.not_, description="parallel file system: /bucket/directory, which only v2 mounts"),
    ] = ""
    local_path: str
    read_only: bool = False
    id: Annotated[str, Field(exclude_if=operator.not_, description="the file system's id, which only v1 is told")] = ""


class CannLevel(StrEnum):
    """What CANN logs (ASCEND_GLOBAL_LOG_LEVEL); the variable's number is the position here, from 0."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    NONE = "none"


class MindSporeLevel(StrEnum):
    """What MindSpore logs (GLOG_v); the variable's number is the position here, from 0, as AISBench's manual counts."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"


class LogLevels(Frozen):
    """Log levels of CANN and MindSpore; None: the image's."""

    cann: CannLevel | None = None
    mindspore: MindSporeLevel | None = None
    events: Annotated[bool | None, Field(description="CANN's event log")] = None
    stdout: Annotated[bool | None, Field(description="CANN's log in the job's log, too")] = None

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that set them."""
        cann, mindspore = list(CannLevel), list(MindSporeLevel)
        numbers = {
            "ASCEND_GLOBAL_LOG_LEVEL": None if self.cann is None else cann.index(self.cann),
            "GLOG_v": None if self.mindspore is None else mindspore.index(self.mindspore),
            "ASCEND_GLOBAL_EVENT_ENABLE": self.events,
            "ASCEND_SLOG_PRINT_TO_STDOUT": self.stdout,
        }
        return {name: str(int(number)) for name, number in numbers.items() if number is not None}


class TrainingMode(StrEnum):
    """What MindSpore on Ascend records of itself: the usual, as little as possible, or everything for a diagnosis."""

    GENERAL = "general"
    PERFORMANCE = "performance"
    DIAGNOSIS = "diagnosis"


# The API has no field for the mode: the platform's launcher for Ascend reads these variables.
_MODE_VARIABLES = {
    TrainingMode.PERFORMANCE: {"MA_RUN_MODE_ENV": "performance"},
    TrainingMode.DIAGNOSIS: {"MA_DIAG_MODE_ENV": "faults"},
}


class Update(Frozen):
    """Packages, as local files, that replace the image's own on each node; empty: the image's own."""

    cann: Annotated[str, Field(description="Ascend-cann-nnae, -nnrt or -toolkit (.run)")] = ""
    mindspore: Annotated[str, Field(description="a wheel of MindSpore (.whl)")] = ""
    protobuf: Annotated[str, Field(description="a wheel of protobuf (.whl)")] = ""

    @property
    def packages(self) -> dict[str, str]:
        """The packages to install, by field, in order of installation."""
        ordered = {"protobuf": self.protobuf, "mindspore": self.mindspore, "cann": self.cann}
        return {field: path for field, path in ordered.items() if path}


class RunSpec(Frozen):
    """All inputs of a run, stored with it.

    Empty strings mean "not set": the workload's manifest, the profile or the cloud decides. A SpecField says what a
    field means; form, drafts, fingerprints, rows, comparisons, reproductions, exports and documents follow from it.
    """

    workload: Annotated[str, Field(min_length=1), SpecField(of_workload=True, upstream="", group=FormGroup.OWN)]
    framework_version: Annotated[
        str, SpecField(*COMPARED_ALONG, of_workload=True, upstream="", group=FormGroup.OWN)
    ] = ""
    parameters: Annotated[dict[str, Scalar], SpecField(of_workload=True, upstream="", group=FormGroup.OWN)] = {}
    inputs: Annotated[tuple[Channel, ...], SpecField(of_workload=True, upstream="inputs", group=FormGroup.OWN)] = ()
    outputs: Annotated[
        tuple[Channel, ...],
        SpecField(
            SpecRole.HARMLESS,
            "every run writes to a path of its own",
            reproduced=True,  # how the job gets them
            of_workload=True,
            upstream="out_base_url",
        ),
    ] = ()
    code_dir: Annotated[
        str,
        Field(description="local directory; empty: the workload's own code"),
        SpecField(
            SpecRole.HARMLESS,
            "where the code lies; rows are split by its content, `code_sha256`",
            of_workload=True,
            of_algorithm=True,
            upstream="",
            group=FormGroup.OWN,
        ),
    ] = ""
    boot_file: Annotated[
        str,
        Field(description="relative to code_dir"),
        SpecField(of_workload=True, of_algorithm=True, upstream="boot_file", group=FormGroup.OWN),
    ] = ""
    engine_name: Annotated[
        str,
        SpecField(
            SpecRole.DESCRIBES,
            "`engine_version` names the same engine",
            reproduced=False,  # beside engine_version
            of_workload=True,
            of_algorithm=True,
            upstream="framework_type",
        ),
    ] = ""
    engine_version: Annotated[
        str, SpecField(*COMPARED_ALONG, of_workload=True, of_algorithm=True, upstream="framework_version")
    ] = ""
    image_url: Annotated[str, SpecField(*COMPARED_ALONG, of_workload=True, of_algorithm=True, upstream="")] = ""
    command: Annotated[
        str,
        Field(description="start command of a custom image"),
        SpecField(of_workload=True, of_algorithm=True, upstream=""),
    ] = ""
    conda_env: Annotated[
        str,
        Field(description="directory of a conda environment in the custom image, whose python is used"),
        SpecField(of_workload=True, of_algorithm=True),
    ] = ""
    algorithm: Annotated[
        str,
        Field(description="id of an algorithm of ModelArts, which decides code and engine"),
        SpecField(of_workload=True),
    ] = ""
    subscription_id: Annotated[
        str,
        Field(description="subscription to an algorithm of AI Gallery, which decides code and engine"),
        SpecField(of_workload=True),
    ] = ""
    item_version_id: Annotated[str, Field(description="the version of that algorithm"), SpecField(of_workload=True)] = (
        ""
    )
    working_dir: Annotated[
        str,
        Field(description="where the job starts, an absolute path in its container"),
        SpecField(of_workload=True),
    ] = ""
    local_code_dir: Annotated[
        str,
        Field(description="where the code is put, a path below /home"),
        SpecField(of_workload=True, of_algorithm=True),
    ] = ""
    flavor: Annotated[str, SpecField(*COMPARED_ALONG, upstream="train_instance_type", group=FormGroup.OWN)] = ""
    pool_id: Annotated[str, SpecField(*COMPARED_ALONG, upstream="pool_id", group=FormGroup.PLACEMENT)] = ""
    node_count: Annotated[
        int,
        Field(ge=1, le=4096),
        SpecField(*COMPARED_ALONG, upstream="train_instance_count", group=FormGroup.OWN),
    ] = 1
    cards_per_node: Annotated[
        int, Field(ge=1, le=64), SpecField(*COMPARED_ALONG, upstream="", group=FormGroup.PLACEMENT)
    ] = 1
    mode: Annotated[Mode, SpecField(upstream="", group=FormGroup.PLACEMENT)] = Mode.CLUSTER
    environments: dict[str, str] = {}
    secrets: Annotated[tuple[str, ...], Field(description="names of variables whose values are stored apart")] = ()
    log_levels: Annotated[LogLevels, SpecField(upstream="", group=FormGroup.OWN)] = LogLevels()
    update: Annotated[Update, SpecField(*COMPARED_ALONG, of_workload=True, upstream="", group=FormGroup.OWN)] = Update()
    volumes: Annotated[tuple[Volume, ...], SpecField(upstream="nas_share_addr")] = ()
    priority: Annotated[int, Field(ge=1, le=3), SpecField(*OF_QUEUE, group=FormGroup.PLACEMENT)] = 1
    """Of a job in a dedicated pool, from 1 to 3."""
    auto_stop_hours: Annotated[int | None, Field(ge=1, le=720), SpecField(*LIMIT, group=FormGroup.LIMITS)] = None
    """Hours of run time after which the platform ends the job."""
    stop_when_stalled_minutes: Annotated[
        int | None,
        Field(ge=1, le=10_080, description="stops a stalled run after so long without a sign of life"),
        SpecField(*LIMIT, group=FormGroup.LIMITS),
    ] = None
    retries: Annotated[int, Field(ge=0, le=128), SpecField(*OF_RECOVERY, group=FormGroup.LIMITS)] = 0
    """How often the platform restarts the job."""
    retry_always: Annotated[
        bool,
        Field(description="after any failure, not only one of the platform"),
        SpecField(*OF_RECOVERY, group=FormGroup.RECOVERY),
    ] = False
    retry_on_hang: Annotated[
        bool,
        Field(description="when the platform finds that the job hangs"),
        SpecField(*OF_RECOVERY, group=FormGroup.RECOVERY),
    ] = False
    environment_check: Annotated[
        bool | None,
        Field(description="the platform's check of each node before the job starts; empty: its default"),
        SpecField(SpecRole.DESCRIBES, "is over before the job starts", group=FormGroup.RECOVERY),
    ] = None
    training_mode: Annotated[TrainingMode, SpecField(of_workload=True, group=FormGroup.RECOVERY)] = TrainingMode.GENERAL
    resume_from: Annotated[
        str,
        Field(description="the run whose outputs the job finds in its own at the start"),
        SpecField(of_workload=True, group=FormGroup.OWN),
    ] = ""
    name: Annotated[
        str,
        Field(description="the start of the job's name"),
        SpecField(*LABEL, upstream="job_name", group=FormGroup.LABELS),
    ] = ""
    description: Annotated[str, SpecField(*LABEL, upstream="job_description_prefix", group=FormGroup.LABELS)] = ""
    log_path: Annotated[
        str,
        Field(description="OBS directory; empty: the profile's"),
        SpecField(SpecRole.HARMLESS, "where the cloud keeps the log", group=FormGroup.LABELS),
    ] = ""
    api: Annotated[Api, SpecField(SpecRole.DESCRIBES, "creates the same job", upstream="", group=FormGroup.YAML)] = (
        Api.V2
    )
    imported: Annotated[
        bool,
        Field(description="made of a configuration of another tool, which an export gives back"),
        SpecField(SpecRole.HARMLESS, "how the spec came to be", of_workload=True, upstream="", group=FormGroup.YAML),
    ] = False

    @field_validator("parameters", "environments", mode="before")
    @classmethod
    def _names_differ(cls, values: Any) -> Any:
        # pydantic strips names, too, and keeps the last value of those that are equal then.
        names = [name.strip() for name in values if isinstance(name, str)] if isinstance(values, dict) else []
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise make_refusal(
                Message("must not contain {name!r} twice, also not with white space around it", name=repeated[0])
            )
        return values

    @property
    def card_count(self) -> int:
        """All cards of the job: nodes x cards per node."""
        return self.node_count * self.cards_per_node

    @property
    def uses_algorithm(self) -> bool:
        """Whether an algorithm of ModelArts, own or subscribed, holds code and engine."""
        return bool(self.algorithm or self.subscription_id or self.item_version_id)

    @property
    def has_own_start(self) -> bool:
        """Whether a custom image starts itself by a command: a preset engine may start the boot file in it instead."""
        return bool(self.command or (self.image_url and not self.engine_name))

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables set by fields other than `environments`."""
        single = {"SINGLESERVER_MODE": "True"} if self.mode is Mode.SINGLE_SERVER else {}
        return single | self.log_levels.variables

    @property
    def platform_variables(self) -> dict[str, str]:
        """Environment variables set by fields that the platform itself reads, before any program of the job."""
        check = {} if self.environment_check is None else {_CHECK: str(int(self.environment_check))}
        return check | _MODE_VARIABLES.get(self.training_mode, {})

    @property
    def stored(self) -> dict[str, Any]:
        """The spec as JSON values, as it is stored: only what is set, so that a new field changes no stored run."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) over the canonical JSON of what is set."""
        return hashlib.sha256(canonical_json(self.stored).encode()).hexdigest()


# Despite its name, 1 means that the check is made (training guide 5.2).
_CHECK = "MA_SKIP_IMAGE_DETECT"

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: object) -> str:
    """JSON with sorted keys and without blanks: equal values have equal text."""
    return _ENCODER.encode(value)
