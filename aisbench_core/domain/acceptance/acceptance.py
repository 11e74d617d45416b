"""Acceptances: a suite with its references and looks as they stood at launch, and what came of it."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.acceptance.plan import MeasuredStep
from aisbench_core.domain.acceptance.suite import Suite
from aisbench_core.model import Grant, Mode, RunSpec

VALID_YEARS = 1


class StepKind(StrEnum):
    """What a step does."""

    HEALTH = "health"
    NODES = "nodes"
    SCALE = "scale"


class AcceptanceState(StrEnum):
    """The state of an acceptance; all but the first are ends."""

    RUNNING = "running"
    ACCEPTED = "accepted"
    REFUSED = "not accepted"
    UNDECIDED = "not decided"
    STOPPED = "stopped"

    @property
    def label(self) -> Message:
        """As a text."""
        return _LABELS[self]


_LABELS = {
    AcceptanceState.RUNNING: Message("running"),
    AcceptanceState.ACCEPTED: Message("accepted"),
    AcceptanceState.REFUSED: Message("not accepted"),
    AcceptanceState.UNDECIDED: Message("not decided"),
    AcceptanceState.STOPPED: Message("stopped"),
}


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step: at most `runs` runs of a spec. `share`: of the median node; `measured`: of steps of scale."""

    kind: StepKind
    name: str
    spec: RunSpec
    hours: float
    runs: int
    share: float = 0.0
    measured: MeasuredStep | None = None

    @property
    def node_hours(self) -> float:
        """What all planned runs use."""
        return self.spec.node_count * self.hours * self.runs


@dataclass(frozen=True, slots=True)
class AcceptancePlan:
    """The steps in the order of their launch. `rehearsal`: of a sandbox, so that nothing is certified."""

    suite: Suite
    steps: tuple[PlannedStep, ...]
    rehearsal: bool

    @property
    def node_hours(self) -> float:
        """What all planned runs use, if none is saved."""
        return sum(step.node_hours for step in self.steps)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A launched plan. `reason`: why it ended as it did; `grant`: by what right its steps are launched."""

    acceptance_id: str
    plan: AcceptancePlan
    profile: str
    created_at: datetime
    created_by: str
    grant: Grant
    state: AcceptanceState = AcceptanceState.RUNNING
    reason: str = ""
    ended_at: datetime | None = None

    @property
    def valid_until(self) -> datetime | None:
        """Until when it is accepted, if it is."""
        if self.state is not AcceptanceState.ACCEPTED or self.ended_at is None:
            return None
        end = self.ended_at
        return end.replace(year=end.year + VALID_YEARS, day=28 if (end.month, end.day) == (2, 29) else end.day)

    def get_token(self, step: int) -> str:
        """What the series of a step is stored under, so that it is launched once."""
        return f"acceptance/{self.acceptance_id}/{step}"


def plan_steps(suite: Suite, measured: list[MeasuredStep], *, rehearsal: bool) -> AcceptancePlan:
    """The steps of a suite. Raises SpecError if a size has no reference, or the budget has no room for all runs."""
    if missing := [step.name for step in measured if step.reference is None]:
        problem = Problem("reference", Message("{steps} have none", steps=", ".join(missing)))
        raise SpecError(
            Message("suite {name}", name=suite.id), [problem], Message("name them with --reference NODES=RUN")
        )
    steps = []
    if health := suite.health:
        spec = health.spec.model_copy(update={"node_count": health.nodes})
        steps.append(PlannedStep(StepKind.HEALTH, "health", spec, health.hours, 1))
    if nodes := suite.nodes:
        spec = nodes.spec.model_copy(update={"node_count": nodes.nodes, "mode": Mode.SINGLE_SERVER})
        steps.append(PlannedStep(StepKind.NODES, "nodes", spec, nodes.hours, nodes.runs, nodes.share))
    steps += [
        PlannedStep(StepKind.SCALE, step.name, step.spec, step.hours, step.looks.runs, measured=step)
        for step in measured
    ]
    plan = AcceptancePlan(suite, tuple(steps), rehearsal)
    most = suite.budget.node_hours
    if most is not None and plan.node_hours > most:
        problem = Problem(
            "budget.node_hours",
            Message("all planned runs need {hours:.4g} node hours", hours=plan.node_hours),
            f"{most:.4g}",
        )
        raise SpecError(Message("suite {name}", name=suite.id), [problem])
    return plan


def end_acceptance(acceptance: Acceptance, state: AcceptanceState, reason: str, at: datetime) -> Acceptance:
    """The same as it ended."""
    return replace(acceptance, state=state, reason=reason, ended_at=at)
