"""The spec of a run, its parts, and the differences of two specs by dotted field names (`parameters.epochs`)."""

import hashlib
import json
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from aisbench_core.messages import Message
from aisbench_core.value_errors import refusal

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

    Empty strings mean "not set": the workload's manifest, the profile or the cloud decides.
    """

    workload: Annotated[str, Field(min_length=1)]
    framework_version: str = ""
    parameters: dict[str, Scalar] = {}
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    code_dir: Annotated[str, Field(description="local directory; empty: the workload's own code")] = ""
    boot_file: Annotated[str, Field(description="relative to code_dir")] = ""
    algorithm: Annotated[str, Field(description="id of an algorithm of ModelArts, which decides code and engine")] = ""
    subscription_id: Annotated[
        str, Field(description="subscription to an algorithm of AI Gallery, which decides code and engine")
    ] = ""
    item_version_id: Annotated[str, Field(description="the version of that algorithm")] = ""
    image_url: str = ""
    command: Annotated[str, Field(description="start command of a custom image")] = ""
    conda_env: Annotated[
        str, Field(description="directory of a conda environment in the custom image, whose python is used")
    ] = ""
    working_dir: Annotated[str, Field(description="where the job starts, an absolute path in its container")] = ""
    local_code_dir: Annotated[str, Field(description="where the code is put, a path below /home")] = ""
    engine_name: str = ""
    engine_version: str = ""
    flavor: str = ""
    pool_id: str = ""
    node_count: Annotated[int, Field(ge=1, le=4096)] = 1
    cards_per_node: Annotated[int, Field(ge=1, le=64)] = 1
    mode: Mode = Mode.CLUSTER
    environments: dict[str, str] = {}
    secrets: Annotated[tuple[str, ...], Field(description="names of variables whose values are stored apart")] = ()
    log_levels: LogLevels = LogLevels()
    update: Update = Update()
    volumes: tuple[Volume, ...] = ()
    priority: Annotated[int, Field(ge=1, le=3)] = 1
    auto_stop_hours: Annotated[int | None, Field(ge=1, le=720)] = None
    stop_when_stalled_minutes: Annotated[
        int | None, Field(ge=1, le=10_080, description="stops a stalled run after so long without a sign of life")
    ] = None
    retries: Annotated[int, Field(ge=0, le=128)] = 0
    retry_always: Annotated[bool, Field(description="after any failure, not only one of the platform")] = False
    retry_on_hang: Annotated[bool, Field(description="when the platform finds that the job hangs")] = False
    environment_check: Annotated[
        bool | None, Field(description="the platform's check of each node before the job starts; empty: its default")
    ] = None
    training_mode: TrainingMode = TrainingMode.GENERAL
    resume_from: Annotated[str, Field(description="the run whose outputs the job finds in its own at the start")] = ""
    log_path: Annotated[str, Field(description="OBS directory; empty: the profile's")] = ""
    name: Annotated[str, Field(description="the start of the job's name")] = ""
    description: str = ""
    api: Api = Api.V2
    imported: Annotated[bool, Field(description="made of a modelarts_config.py, which an export gives back")] = False

    @field_validator("parameters", "environments", mode="before")
    @classmethod
    def _names_differ(cls, values: Any) -> Any:
        # pydantic strips names, too, and keeps the last value of those that are equal then.
        names = [name.strip() for name in values if isinstance(name, str)] if isinstance(values, dict) else []
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise refusal(
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
    def sha256(self) -> str:
        """SHA-256 (hex) over the spec's canonical JSON, in which later fields appear only if they are set."""
        values = self.model_dump(mode="json")
        unset = [name for name in _LATER if getattr(self, name) == type(self).model_fields[name].default]
        return hashlib.sha256(canonical_json({k: v for k, v in values.items() if k not in unset}).encode()).hexdigest()


# Despite its name, 1 means that the check is made (training guide 5.2).
_CHECK = "MA_SKIP_IMAGE_DETECT"

# Fields added after specs were stored: a spec without them keeps its hash.
_LATER = (
    *("log_levels", "update", "imported", "secrets", "working_dir", "local_code_dir"),
    *("retry_always", "retry_on_hang", "environment_check", "training_mode", "resume_from", "algorithm", "conda_env"),
    *("stop_when_stalled_minutes", "subscription_id", "item_version_id"),
)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: object) -> str:
    """JSON with sorted keys and without blanks: equal values have equal text."""
    return _ENCODER.encode(value)


CHANNELS = ("inputs", "outputs")
# Fields in which empty text is a value; in others it means not set.
EMPTY_COUNTS = ("parameters", "environments")


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs; None on the side that does not set it."""

    field: str
    original: object
    now: object


def flat(spec: RunSpec, fields: Collection[str] | None = None) -> dict[str, object]:
    """All fields that are set, by dotted name. `fields`: only these of the spec."""
    values = spec.model_dump(mode="json", include=None if fields is None else {*fields})
    return {name: value for name, value in _flat(values) if value is not None}


def differences(original: RunSpec, now: RunSpec, fields: Collection[str] | None = None) -> tuple[FieldDifference, ...]:
    """The fields in which two specs differ. `fields`: only these, if the original's others are unknown.

    90, 90.0 and "90" are different values."""
    before, after = flat(original, fields), flat(now, fields)
    return tuple(
        FieldDifference(name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if canonical_json(before.get(name)) != canonical_json(after.get(name))
    )


def unknown_fields(stated: Collection[str] | None) -> tuple[str, ...]:
    """The spec's fields that an imported original does not state, in order; None: all are known."""
    return () if stated is None else tuple(name for name in RunSpec.model_fields if name not in {*stated, "imported"})


def flat_channels(field: str, channels: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, object]]:
    """The paths of inputs or outputs as stored, and whatever else of them is not the default, by dotted name."""
    for channel in channels:
        name = f"{field}.{channel['name']}"
        yield name, channel["path"] or None
        for key, default in _CHANNEL_DETAILS.items():
            if channel.get(key, default) != default:
                yield f"{name}.{key}", channel[key]


_CHANNEL_DETAILS = {name: field.default for name, field in Channel.model_fields.items() if name not in ("name", "path")}


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for field, value in values.items():
        if field in CHANNELS:
            yield from flat_channels(field, value)
        elif isinstance(value, dict):
            for name, item in value.items():
                yield f"{field}.{name}", None if item == "" and field not in EMPTY_COUNTS else item
        elif isinstance(value, list):
            yield field, canonical_json(value) if value else None
        else:
            yield field, None if value == "" else value
