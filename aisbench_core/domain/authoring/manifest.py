"""The models of `workload.yaml`, the manifest of a workload."""

import math
from collections import ChainMap
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationInfo, field_validator

from aisbench_core.base.messages import Message, join_parts, make_verbatim
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.domain.authoring.number_ranges import NumberRange, limits_text
from aisbench_core.domain.llm.llm_settings import LlmSection
from aisbench_core.domain.progress.patterns import MAX_PATTERNS, pattern_problem
from aisbench_core.domain.results.log_results import LogWindow
from aisbench_core.model import METRIC_NAME, Better, Frozen, PrimaryMetric, Scalar

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]
Value = StrictBool | StrictInt | StrictFloat | StrictStr
PythonFile = Annotated[str, Field(pattern=r"^([\w-]+/)*[\w-]+\.py$")]


class ParameterType(StrEnum):
    """The type of a parameter. An int is also a valid float; there are no other conversions."""

    INT = "int"
    FLOAT = "float"
    STR = "str"
    BOOL = "bool"

    def fits(self, value: Scalar) -> bool:
        """Whether the value has this type: `90` is an int and a float, `"90"` and `true` are neither."""
        if self is ParameterType.FLOAT:
            return type(value) in (int, float)  # not isinstance: True is an int
        return type(value).__name__ == self.value

    @property
    def description(self) -> Message:
        """In words, for who has entered something else."""
        match self:
            case ParameterType.INT:
                return Message("a whole number")
            case ParameterType.FLOAT:
                return Message("a number")
            case ParameterType.STR:
                return Message("text")
            case ParameterType.BOOL:
                return Message("true or false")


class Parameter(Frozen):
    """One hyperparameter: it reaches the boot file as `--name=value`."""

    type: Annotated[ParameterType, Field(description="`int`, `float`, `str` or `bool`")]
    choices: Annotated[tuple[Value, ...], Field(description="the only values allowed; empty: any")] = ()
    minimum: Annotated[float | None, Field(description="smallest number allowed")] = None
    maximum: Annotated[float | None, Field(description="largest number allowed")] = None
    default: Annotated[Value, Field(description="the value when the person gives none")]
    unit: Annotated[str, Field(description="unit of a number, where the name does not say it")] = ""
    unit_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    help: Annotated[str, Field(min_length=1, description="what it does, in English")]
    help_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    decides_speed: Annotated[
        bool, Field(description="whether runs that differ in it are not comparable; it enters the fingerprint")
    ]

    @field_validator("choices")
    @classmethod
    def _choices_fit(cls, choices: tuple[Value, ...], info: ValidationInfo) -> tuple[Value, ...]:
        kind = info.data.get("type")  # missing if it is invalid itself, which is reported already
        wrong = [choice for choice in choices if kind and not kind.fits(choice)]
        if wrong:
            raise make_refusal(Message("{values} is not of type {kind}", values=format_values(wrong), kind=kind))
        return choices

    @field_validator("minimum", "maximum")
    @classmethod
    def _only_numbers_have_a_range(cls, bound: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("type")
        if bound is not None and kind in (ParameterType.STR, ParameterType.BOOL):
            raise make_refusal(Message("applies to numbers, but the type is {kind}", kind=kind))
        return bound

    @field_validator("default")
    @classmethod
    def _default_is_allowed(cls, default: Value, info: ValidationInfo) -> Value:
        # Only if the fields before it are valid: otherwise this would be a second message about the same mistake.
        if {"type", "choices", "minimum", "maximum"} <= info.data.keys():
            limits = (info.data["choices"], info.data["minimum"], info.data["maximum"])
            problem = _find_problem(default, info.data["type"], *limits)
            if problem:
                raise make_refusal(problem)
        return default

    def problem(self, value: Scalar) -> Message | Literal[""]:
        """What is wrong with the value, and what is allowed; empty if it is valid."""
        return _find_problem(value, self.type, self.choices, self.minimum, self.maximum)

    @property
    def allowed(self) -> Message:
        """The allowed values, for display."""
        if self.choices:
            return Message("one of {choices}", choices=format_values(self.choices))
        values = limits_text(self.minimum, self.maximum)
        return join_parts(" ", [self.type.value, values]) if values else make_verbatim(self.type.value)

    @property
    def number_range(self) -> NumberRange | None:
        """What a number may be; None where any of a list, a text or a switch is asked for."""
        if self.choices or self.type in (ParameterType.STR, ParameterType.BOOL):
            return None
        return NumberRange(self.minimum, self.maximum, self.type is ParameterType.INT)


class VersionEdition(Frozen):
    """The settings of one framework version of a workload."""

    throughput_definition: Annotated[str, Field(description="how throughput is computed: a key of `definitions`")]
    engine_name: Annotated[str, Field(description="preset image family; empty: the workload's")] = ""
    engine_version: Annotated[str, Field(min_length=1, description="preset image version")]
    boot_file: Annotated[PythonFile | None, Field(description="if it differs from the workload's")] = None
    parameters: Annotated[
        dict[Name, Parameter], Field(default_factory=dict, description="added to, or replacing, the workload's")
    ]
    omits: Annotated[tuple[str, ...], Field(description="parameters of the workload that this version lacks")] = ()


class Definition(Frozen):
    """How a throughput is computed. Results with different definitions are not comparable."""

    text: Annotated[str, Field(min_length=1, description="the formula per rank, in English")]
    text_zh: Annotated[str, Field(description="the same in Chinese")] = ""


class DatasetLayout(Frozen):
    """The data set of a workload, and the layout of its directory."""

    name: Annotated[str, Field(min_length=1, description="the data set's name")]
    input: Annotated[
        Name | Literal[""], Field(description="name of the input channel; empty: it reads none, and is `optional`")
    ] = "data_url"
    required: Annotated[tuple[str, ...], Field(description="entries of the directory; directories end with `/`")] = ()
    optional: Annotated[
        bool, Field(validate_default=True, description="whether the workload runs without an input")
    ] = False
    synthetic_without: Annotated[
        bool, Field(description="whether it then generates data; results are marked as synthetic")
    ] = False

    @field_validator("optional")
    @classmethod
    def _none_is_required(cls, optional: bool, info: ValidationInfo) -> bool:
        if info.data.get("input") == "" and not optional:
            raise make_refusal(Message("must be true where `input` is empty"))
        return optional


class QualityTarget(Frozen):
    """The accuracy that a valid run must reach, and its source."""

    value: Annotated[float, Field(gt=0, le=1, description="the least value of the metric, 0 to 1")]
    metric: Annotated[str, Field(min_length=1, description="what `accuracy.json` holds")]
    source: Annotated[str, Field(min_length=1, description="who set it; `inferred` if no rule was found")]
    note: Annotated[str, Field(description="basis of the inference")] = ""


class LossTarget(Frozen):
    """The loss that a run must come down to, and its source."""

    value: Annotated[float, Field(gt=0, allow_inf_nan=False, description="the highest loss that reaches it")]
    source: Annotated[str, Field(min_length=1, description="who set it; `inferred` if no rule was found")]


class PrimaryMetricEntry(Frozen):
    """The metric by which the leaderboard ranks the workload, in place of the throughput."""

    name: Annotated[str, Field(pattern=f"^{METRIC_NAME.pattern}$", description="as the script or the console names it")]
    unit: Annotated[str, Field(max_length=40, description="its unit")] = ""
    better: Annotated[Literal["higher", "lower"], Field(description="`higher` or `lower`: which values are better")] = (
        "higher"
    )

    @property
    def value(self) -> PrimaryMetric:
        """As it is stored with runs."""
        return PrimaryMetric(self.name, self.unit, Better(self.better))


class ProgressLines(Frozen):
    """How the log tells the progress of a training, beside the reporter and the well-known styles."""

    patterns: Annotated[
        tuple[str, ...],
        Field(max_length=MAX_PATTERNS, description="patterns of RE2 with named groups, tried before the known styles"),
    ] = ()
    batch_parameter: Annotated[
        str, Field(description="parameter with the samples of a card per step: throughput from the time of a step")
    ] = ""

    @field_validator("patterns")
    @classmethod
    def _patterns_can_be_used(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if problem := pattern_problem(pattern):
                raise make_refusal(Message("{pattern!r} {problem}", pattern=pattern[:80], problem=problem))
        return patterns


class ResultFrom(StrEnum):
    """Where the result of a run is: in the files of the output directory, or in what its framework prints."""

    FILES = "files"
    LOG = "log"


class MeasuredSteps(Frozen):
    """The steps of a log that count."""

    first: Annotated[int, Field(ge=1, description="first measured step, counted from 1")] = 1
    last: Annotated[int | None, Field(ge=1, description="last measured step; none: the last one")] = None

    @field_validator("last")
    @classmethod
    def _last_is_not_before_the_first(cls, last: int | None, info: ValidationInfo) -> int | None:
        if last is not None and last < info.data.get("first", 1):
            raise make_refusal(Message("must be at least the first, {first}", first=info.data["first"]))
        return last


class PackageOrigin(Frozen):
    """The ais-bench package that a workload was imported from; written by the import."""

    name: Annotated[str, Field(min_length=1, description="the package's file or folder")]
    company: Annotated[str, Field(description="whose package it is")] = ""
    architecture: Annotated[str, Field(description="`aarch64` or `x86_64`")] = ""
    tool_version: Annotated[str, Field(description="version of ais-bench-stubs")] = ""
    sha256: Annotated[str, Field(min_length=1, description="of its workload, framework version and code, in hex")]


class Manifest(Frozen):
    """The whole of a `workload.yaml`. The workload's name is its folder's name."""

    title: Annotated[str, Field(min_length=1, description="name for people, in English")]
    title_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    summary: Annotated[str, Field(min_length=1, description="one or two sentences, in English")]
    summary_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    model: Annotated[str, Field(min_length=1, description="the model that is trained")]
    framework: Annotated[str, Field(min_length=1, description="MindSpore, PyTorch, NumPy …")]
    boot_file: Annotated[PythonFile, Field(description="started once per card; relative to the code directory")]
    engine_name: Annotated[str, Field(description="preset image family")] = "Ascend-Powered-Engine"
    output: Annotated[Name, Field(description="name of the output channel that results are written to")] = "train_url"
    reporter: Annotated[bool, Field(description="upload aisbench_report.py beside the boot file")] = False
    progress: Annotated[bool, Field(description="the code calls aisbench_report.progress() while it trains")] = False
    throughput_unit: Annotated[str, Field(min_length=1, description="unit of every throughput")] = "samples/s"
    primary_metric: Annotated[
        PrimaryMetricEntry | None, Field(description="what the leaderboard ranks by; default: throughput")
    ] = None
    stall_minutes: Annotated[
        int | None,
        Field(ge=2, le=1440, description="minutes without a sign of life after which a run counts as stalled"),
    ] = None
    dataset: Annotated[DatasetLayout, Field(description="what it trains on")]
    target: Annotated[QualityTarget | None, Field(description="the accuracy to reach, if any")] = None
    loss_target: Annotated[LossTarget | None, Field(description="the loss to come down to, if any")] = None
    definitions: Annotated[dict[str, Definition], Field(min_length=1, description="throughput definitions by id")]
    parameters: Annotated[dict[Name, Parameter], Field(default_factory=dict, description="hyperparameters by name")]
    versions: Annotated[
        dict[str, VersionEdition], Field(min_length=1, description="framework versions, oldest first; last: default")
    ]
    progress_lines: Annotated[ProgressLines, Field(description="how the log tells the progress")] = ProgressLines()
    llm: Annotated[LlmSection | None, Field(description="how it trains a language model, if it does")] = None
    result_from: Annotated[
        ResultFrom, Field(description="`files`, or `log`: the script is unmodified, and its log has a known style")
    ] = ResultFrom.FILES
    measured_steps: Annotated[
        MeasuredSteps | None, Field(description="those of a result from the log; of an LLM, `llm` says them")
    ] = None
    package: Annotated[PackageOrigin | None, Field(description="the package that it was imported from, if any")] = None

    @field_validator("versions")
    @classmethod
    def _versions_agree(cls, versions: dict[str, VersionEdition], info: ValidationInfo) -> dict[str, VersionEdition]:
        for version, edition in versions.items():
            _require_names(
                f"{version}.throughput_definition", [edition.throughput_definition], info.data, "definitions"
            )
            _require_names(f"{version}.omits", edition.omits, info.data, "parameters")
        return versions

    @field_validator("measured_steps")
    @classmethod
    def _steps_are_said_once(cls, steps: MeasuredSteps | None, info: ValidationInfo) -> MeasuredSteps | None:
        if steps and info.data.get("llm"):
            raise make_refusal(Message("`llm` says them: first_step, last_step"))
        if steps and info.data.get("result_from") is ResultFrom.FILES:
            raise make_refusal(Message("applies to `result_from: log`"))
        return steps

    @property
    def log_window(self) -> LogWindow | None:
        """The steps that count, if the result is in the log."""
        if self.result_from is ResultFrom.FILES:
            return None
        if self.llm:
            return LogWindow(self.llm.first_step, self.llm.last_step)
        steps = self.measured_steps or MeasuredSteps()
        return LogWindow(steps.first, steps.last)

    @field_validator("llm")
    @classmethod
    def _llm_names_parameters(cls, llm: LlmSection | None, info: ValidationInfo) -> LlmSection | None:
        if llm and {"parameters", "versions"} <= info.data.keys():
            editions = (edition.parameters for edition in info.data["versions"].values())
            known = ChainMap(info.data["parameters"], *editions)
            _require_names("parameter", llm.parameters, {"parameters": known}, "parameters")
        return llm


def format_values(values: Iterable[Scalar]) -> str:
    """Values as in YAML, so that "90" and 90 look different."""
    return ", ".join(str(value).lower() if isinstance(value, bool) else repr(value) for value in values)


def _require_names(field: str, names: Iterable[str], sections: Mapping[str, Any], section: str) -> None:
    entries = sections.get(section)
    for name in names:
        if entries is not None and name not in entries:
            problem = Message(
                "{field}: {name!r} is not among {place}: {known}",
                field=field,
                name=name,
                place=section,
                known=", ".join(entries) or Message("none"),
            )
            raise make_refusal(problem)


def _find_problem(
    value: Scalar, kind: ParameterType, choices: tuple[Value, ...], minimum: float | None, maximum: float | None
) -> Message | Literal[""]:
    if not kind.fits(value):
        return Message("must be {kind}", kind=kind.description)
    if choices and value not in choices:
        return Message("is not allowed; allowed: {choices}", choices=format_values(choices))
    if isinstance(value, float) and not math.isfinite(value):
        return Message("is not a finite number")
    if isinstance(value, int | float) and _is_outside(value, minimum, maximum):
        return Message("is out of range; allowed: {range}", range=limits_text(minimum, maximum))
    return ""


def _is_outside(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)
