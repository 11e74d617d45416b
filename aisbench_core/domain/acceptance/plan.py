"""The measured steps of a suite with their references, looks and risks, as they stand before launch."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aisbench_core.base.messages import Message
from aisbench_core.domain.acceptance.decision_rule import LookPlan, ReferenceSpeed, plan_looks
from aisbench_core.domain.acceptance.risks import StepRates, list_rates
from aisbench_core.domain.acceptance.suite import Reference, ScaleSize, ScaleStep, Suite
from aisbench_core.model import RunSpec

FindReference = Callable[[Reference, int], ReferenceSpeed]
"""The speed that a reference has on so many nodes. Raises SpecError if it has none."""


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A workload on a number of nodes. Without a reference, what was `asked` for is None."""

    name: str
    spec: RunSpec
    hours: float
    reference: ReferenceSpeed | None
    asked: Reference | None
    looks: LookPlan

    @property
    def origin(self) -> Message:
        """Where the reference comes from."""
        if self.asked is None:
            return Message("none: name one with --reference")
        if self.asked.value is not None:
            return Message("stated: {source}", source=self.asked.source)
        if self.asked.bundles:
            return Message("runs from trusted bundles, like {run_id}", run_id=self.asked.bundles)
        return Message("runs of the configuration of {run_id}", run_id=self.asked.configuration)

    @property
    def node_hours(self) -> float:
        """What all planned runs use."""
        return self.spec.node_count * self.hours * self.looks.runs

    @property
    def rates(self) -> list[StepRates]:
        """How it ends by the true speed; while no reference is named, as if that were exact."""
        return list_rates(self.looks, self.reference or ReferenceSpeed(1.0))


def plan_measured_steps(
    suite: Suite, find_reference: FindReference, named: Mapping[int, Reference] | None = None
) -> list[MeasuredStep]:
    """The measured steps in the order of their launch. `named`: references by number of nodes, for sizes without one.

    Raises SpecError for a reference without a speed."""
    return [_plan_size(suite, step, size, find_reference, named or {}) for step in suite.scale for size in step.sizes]


def _plan_size(
    suite: Suite, step: ScaleStep, size: ScaleSize, find_reference: FindReference, named: Mapping[int, Reference]
) -> MeasuredStep:
    asked = size.reference or named.get(size.nodes)
    speed = find_reference(asked, size.nodes) if asked else None
    runs, cv = step.runs or suite.runs, step.cv or suite.cv
    if speed and speed.df is not None:
        # Runs of the reference that scatter more than was expected say what is to be expected.
        cv = max(cv, speed.uncertainty * math.sqrt(speed.df + 1))
    looks = plan_looks(runs, cv, suite.share, speed or ReferenceSpeed(1.0), suite.pass_alpha, suite.fail_alpha)
    spec = step.spec.model_copy(update={"node_count": size.nodes})
    return MeasuredStep(f"{step.name}-{size.nodes}", spec, step.hours, speed, asked, looks)
