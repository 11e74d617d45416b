"""What decides the speed of LLM training beside the workload's parameters: `llm` of a manifest, and of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from aisbench_core.domain.llm.chips import Precision, parse_precision
from aisbench_core.domain.llm.flops import Recomputation
from aisbench_core.domain.llm.model_shape import ModelShape
from aisbench_core.domain.llm.tokens import Window
from aisbench_core.model import Frozen, Scalar

LLM = "llm."
"""Begins the names of those parameters that decide speed that a manifest's section `llm` adds."""

UNKNOWN = "unknown"
"""The value of one that the manifest does not state."""


class FromParameter(Frozen):
    """The value that a run has of one of the workload's parameters."""

    parameter: Annotated[str, Field(min_length=1, description="its name")]
    values: Annotated[dict[str, Scalar], Field(description="what each of its values means", default_factory=dict)]

    def resolve(self, parameters: Mapping[str, Scalar]) -> Scalar | None:
        """The value, or what it means; None if there is none."""
        value = parameters.get(self.parameter)
        return self.values.get(str(value)) if self.values else value


Parameter = TypeVar("Parameter")
Setting = StrictBool | StrictInt | StrictFloat | StrictStr | FromParameter | None


def _make_setting(description: str) -> Setting:
    return Field(default=None, description=description)


class LlmSettings(Frozen):
    """What MLPerf Training 6.1 demands of every LLM result, and four more.

    Each is a value, `{parameter: NAME}`, or `{parameter: NAME, values: {VALUE: MEANING}}`."""

    lowest_numerical_precision_in_linear: Setting = _make_setting("number format of matrix products, as in `bf16`")
    lowest_numerical_precision_in_attn: Setting = _make_setting("of attention")
    lowest_numerical_precision_in_comm: Setting = _make_setting("of gradients and weights that devices exchange")
    tensor_parallelism: Setting = _make_setting("devices that share a layer's matrices")
    pipeline_parallelism: Setting = _make_setting("stages that the layers are cut into")
    context_parallelism: Setting = _make_setting("devices that share a sequence")
    expert_parallelism: Setting = _make_setting("devices that share the experts")
    micro_batch_size: Setting = _make_setting("sequences of a device per forward pass")
    config_filename: Setting = _make_setting("file with the recipe")
    sequence_length: Setting = _make_setting("tokens of a sequence")
    global_batch_size: Setting = _make_setting("sequences of a step, over all devices")
    packing: Setting = _make_setting("whether sequences are filled up with further samples")
    recomputation: Setting = _make_setting("what the backward pass computes again: `none`, `selective` or `full`")


class LlmSection(LlmSettings):
    """Section `llm` of a manifest: its workload trains a language model."""

    shape: Annotated[
        dict[str, Setting], Field(description="the model's shape, or the keys of its config.json", default_factory=dict)
    ]
    shapes: Annotated[
        dict[str, ModelShape], Field(description="shapes by the value of `shape_parameter`", default_factory=dict)
    ]
    shape_parameter: Annotated[str, Field(description="the parameter that chooses among `shapes`")] = ""
    first_step: Annotated[int, Field(ge=1, description="first measured step, counted from 1")] = 1
    is_sharded: Setting = _make_setting("whether weights, gradients and optimizer are distributed over all devices")
    last_step: Annotated[int | None, Field(ge=1, description="last measured step; none: the last one")] = None

    @property
    def parameters(self) -> Iterator[str]:
        """The names of all parameters that it refers to."""
        names = (*LlmSettings.model_fields, "is_sharded")
        settings = [*(getattr(self, name) for name in names), *self.shape.values()]
        yield from (each.parameter for each in settings if isinstance(each, FromParameter))
        if self.shape_parameter:
            yield self.shape_parameter

    def resolve(self, parameters: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """What it says of a run with these parameters, as further ones that decide speed: `llm.<name>`."""
        settings = {
            f"{LLM}{name}": _resolve_setting(getattr(self, name), parameters) for name in LlmSettings.model_fields
        }
        last = "" if self.last_step is None else self.last_step
        shape = self._resolve_shape(parameters)
        return {
            **{name: UNKNOWN if value is None else value for name, value in settings.items()},
            f"{LLM}shape": UNKNOWN if shape is None else shape.model_dump_json(),
            f"{LLM}window": f"{self.first_step}-{last}",
        }

    def _resolve_shape(self, parameters: Mapping[str, Scalar]) -> ModelShape | None:
        if self.shape_parameter:
            return self.shapes.get(str(parameters.get(self.shape_parameter)))
        values = {name: _resolve_setting(setting, parameters) for name, setting in self.shape.items()}
        try:
            return ModelShape.model_validate(values)
        except ValidationError:
            return None


@dataclass(frozen=True, slots=True)
class LlmRun:
    """What is known of how a run trained a language model. None: unknown."""

    settings: Mapping[str, Scalar]
    shape: ModelShape | None
    window: Window

    @property
    def sequence(self) -> int | None:
        """Tokens of a sequence."""
        return _as_count(self.settings.get("sequence_length"))

    @property
    def nominal_tokens(self) -> int | None:
        """Tokens of a step if every sequence were full."""
        batch = _as_count(self.settings.get("global_batch_size"))
        return batch * self.sequence if batch and self.sequence else None

    @property
    def stated_precision(self) -> str:
        """As the run states it."""
        return str(self.settings.get("lowest_numerical_precision_in_linear", UNKNOWN))

    @property
    def precision(self) -> Precision | None:
        """Of matrix products, whose peak counts."""
        return parse_precision(self.stated_precision)

    @property
    def recomputation(self) -> Recomputation | None:
        """What the backward pass computes again."""
        stated = str(self.settings.get("recomputation", "")).lower()
        return Recomputation(stated) if stated in list(Recomputation) else None


def read_llm(speed: Mapping[str, object] | None) -> LlmRun | None:
    """From the parameters that decide a run's speed; None of runs that train no language model."""
    found = {name.removeprefix(LLM): value for name, value in (speed or {}).items() if name.startswith(LLM)}
    if not found:
        return None
    first, _, last = str(found.get("window", "1-")).partition("-")
    settings: dict[str, Scalar] = {
        name: value for name in LlmSettings.model_fields
        if isinstance(value := found.get(name), bool | int | float | str) and value != UNKNOWN
    }  # fmt: skip
    return LlmRun(settings, _parse_shape(found.get("shape")), Window(int(first), int(last) if last else None))


def _resolve_setting(setting: Setting, parameters: Mapping[str, Scalar]) -> Scalar | None:
    return setting.resolve(parameters) if isinstance(setting, FromParameter) else setting


def _parse_shape(stored: object) -> ModelShape | None:
    try:
        return ModelShape.model_validate_json(str(stored))
    except ValidationError:  # unknown, or of another version
        return None


def _as_count(value: Scalar | None) -> int | None:
    return value if type(value) is int and value > 0 else None


def without_llm(speed: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The workload's own parameters that decide speed: those which a spec can set."""
    return {name: value for name, value in speed.items() if not name.startswith(LLM)}


def list_unknown(speed: Mapping[str, object] | None) -> list[str]:
    """Which of them the run's manifest does not state."""
    return [name for name, value in (speed or {}).items() if name.startswith(LLM) and value == UNKNOWN]
