"""Suites: YAML files that say what a pool is accepted by, in which order, against what, and within which budget."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.domain.acceptance.decision_rule import FIRST_LOOK
from aisbench_core.model import Frozen, RunSpec

SHIPPED = Path(__file__).parent / "suites"

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
Nodes = Annotated[int, Field(ge=1, le=4096)]
Hours = Annotated[float, Field(gt=0, le=720, allow_inf_nan=False, description="hours that a run is expected to take")]
Runs = Annotated[int, Field(ge=FIRST_LOOK, le=50, description="planned runs: the most that are launched")]
Share = Annotated[float, Field(gt=0, le=1, description="of the reference's speed that has to be reached")]
Spread = Annotated[float, Field(gt=0, le=0.5, description="expected coefficient of variation between runs")]


class Reference(Frozen):
    """What speed is compared with: runs of a configuration, own or from bundles, or a number with its source."""

    configuration: Annotated[str, Field(description="a run of this console: all valid ones of its configuration")] = ""
    bundles: Annotated[str, Field(description="a run from a bundle: all valid ones like it from trusted bundles")] = ""
    value: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="a stated speed, in the workload's unit")
    ] = None
    source: Annotated[str, Field(max_length=2000, description="where the value comes from")] = ""
    uncertainty: Annotated[float, Field(ge=0, lt=0.5, description="the value's standard uncertainty, as a share")] = 0.0

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        given = [bool(self.configuration), bool(self.bundles), self.value is not None]
        if sum(given) != 1:
            raise make_refusal(Message("must have one of configuration, bundles and value"))
        if self.value is None and (self.source or self.uncertainty):
            raise make_refusal(Message("source and uncertainty belong to a value; those of runs come from the runs"))
        if self.value is not None and not self.source:
            raise make_refusal(Message("a value needs its source: who measured it, where and when"))
        return self


class HealthStep(Frozen):
    """A short run on all nodes, in which the operator's tools examine each card."""

    spec: RunSpec
    nodes: Nodes
    hours: Hours


class NodesStep(Frozen):
    """Each node trains on its own, all at once, which names slow nodes: by the median of all."""

    spec: RunSpec
    nodes: Annotated[int, Field(ge=2, le=4096, description="all nodes of the pool")]
    hours: Hours
    runs: Runs = 5
    share: Annotated[float, Field(gt=0, lt=1, description="of the median node, below which one is slow")] = 0.95


class ScaleSize(Frozen):
    """A number of nodes, with what its speed is compared with."""

    nodes: Nodes
    reference: Annotated[Reference | None, Field(description="null: named at launch")] = None


class ScaleStep(Frozen):
    """A workload on one or more numbers of nodes; each is a measured step."""

    name: Name
    spec: RunSpec
    sizes: Annotated[tuple[ScaleSize, ...], Field(min_length=1, max_length=16)]
    hours: Hours
    runs: Runs | None = None
    cv: Spread | None = None

    @field_validator("sizes")
    @classmethod
    def _require_distinct(cls, sizes: tuple[ScaleSize, ...]) -> tuple[ScaleSize, ...]:
        if len({size.nodes for size in sizes}) < len(sizes):
            raise make_refusal(Message("each number of nodes may be named once"))
        return sizes


class SuiteBudget(Frozen):
    """The most that an acceptance may use; what is not named has no limit."""

    node_hours: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    money: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    currency: Annotated[str, Field(pattern=r"^([A-Z]{3})?$")] = ""

    @model_validator(mode="after")
    def _require_currency(self) -> Self:
        if (self.money is None) is bool(self.currency):
            raise make_refusal(Message("money and currency belong together"))
        return self


class Suite(Frozen):
    """Steps in the order of their launch: health, nodes one by one, then each size of each workload."""

    id: Annotated[Name, Field(description="its name on the command line")]
    title: Text
    title_zh: Annotated[str, Field(max_length=2000)] = ""
    share: Share = 0.95
    confidence: Annotated[float, Field(ge=0.8, le=0.999, description="of a pass, and of a failure of any step")] = 0.95
    runs: Runs = 8
    cv: Spread = 0.02
    lost: Annotated[int, Field(ge=0, le=20, description="runs without a valid result that a step may have")] = 1
    budget: SuiteBudget = SuiteBudget()
    spec: Annotated[RunSpec | None, Field(description="what steps launch that have no spec of their own")] = None
    health: HealthStep | None = None
    nodes: NodesStep | None = None
    scale: Annotated[tuple[ScaleStep, ...], Field(max_length=16)] = ()

    @model_validator(mode="before")
    @classmethod
    def _complete_steps(cls, content: Any) -> Any:
        """Steps without a spec have the suite's."""
        if not isinstance(content, dict) or "spec" not in content:
            return content
        spec, steps = content["spec"], dict[str, Any]()
        for name in ("health", "nodes"):
            if isinstance(step := content.get(name), dict):
                steps[name] = {"spec": spec, **step}
        if isinstance(scale := content.get("scale"), list):
            steps["scale"] = [{"spec": spec, **step} if isinstance(step, dict) else step for step in scale]
        return content | steps

    @model_validator(mode="after")
    def _require_steps(self) -> Self:
        if not (self.health or self.nodes or self.scale):
            raise make_refusal(Message("must have a step: health, nodes or scale"))
        names = [step.name for step in self.scale]
        if len(set(names)) < len(names):
            raise make_refusal(Message("two workloads of scale have the same name"))
        return self

    @property
    def measured(self) -> int:
        """The number of steps that are compared with a reference, over which a wrong failure is spread."""
        return sum(len(step.sizes) for step in self.scale)

    @property
    def pass_alpha(self) -> float:
        """The error of one step's pass. It needs no correction: an acceptance passes if all steps do."""
        return round(1 - self.confidence, 9)

    @property
    def fail_alpha(self) -> float:
        """The error of one step's failure (Bonferroni): one failure is enough to refuse a pool."""
        return self.pass_alpha / max(1, self.measured + bool(self.nodes))

    @property
    def node_hours(self) -> float:
        """What all planned runs use, if none is saved."""
        single = [(step, getattr(step, "runs", 1)) for step in (self.health, self.nodes) if step]
        hours = sum(step.nodes * step.hours * runs for step, runs in single)
        return hours + sum(
            size.nodes * step.hours * (step.runs or self.runs) for step in self.scale for size in step.sizes
        )


class Suites:
    """The shipped suites and those of a folder. A file that cannot be used fails only when it is asked for."""

    def __init__(self, own: Path) -> None:
        self._own = own

    def list_ids(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._find_files())

    def get(self, suite_id: str) -> Suite:
        """One suite. Raises ConfigError when there is none, SpecError about each field that is wrong."""
        return read_suite(self._find_file(suite_id))

    def get_text(self, suite_id: str) -> str:
        """The file's text, as a start for an own one. Raises ConfigError."""
        return self._find_file(suite_id).read_text("utf-8")

    def _find_file(self, suite_id: str) -> Path:
        files = self._find_files()
        if suite_id not in files:
            ids = ", ".join(sorted(files))
            raise ConfigError(
                Message("there is no suite {suite_id!r}; known are {ids}", suite_id=suite_id, ids=ids),
                Message("write data/suites/<name>.yaml, or name one that there is"),
            )
        return files[suite_id]

    def _find_files(self) -> Mapping[str, Path]:
        """By name: the file's, which the suite's id repeats. An own file stands in place of a shipped one."""
        return {file.stem: file for folder in (SHIPPED, self._own) for file in sorted(folder.glob("*.yaml"))}


def read_suite(file: Path) -> Suite:
    """A suite from its file, whose name is its id. Raises ConfigError, SpecError with one problem per field."""
    content: dict[str, Any] = read_yaml(file)
    suite = parse_document(Suite, {"id": file.stem, **content}, Message("suite {name}", name=file.name))
    if suite.id != file.stem:
        raise ConfigError(
            Message("suite {name} has the id {suite_id}", name=file.name, suite_id=suite.id),
            Message("name file and suite alike, or leave the id out"),
        )
    return suite
