"""What the runs of a step say so far. Pure functions of its series and of what the warehouse knows of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.acceptance.acceptance import PlannedStep, StepKind
from aisbench_core.domain.acceptance.decision_rule import SpeedDecision, StepVerdict, decide_speed
from aisbench_core.domain.acceptance.node_rule import NodeSpeed, NodeVerdict, judge_nodes
from aisbench_core.domain.acceptance.suite import Suite
from aisbench_core.model import LOST, CellState, Passport
from aisbench_core.running.series.matrix import Matrix, Tried

_HEALTHY = "OK"
NAMED = 8  # nodes that a sentence names


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A step now. `series_id` is empty before it is launched. `lost`: runs that ended without a valid result.

    `nodes`: by name, of steps that compare them. `reason`: why it failed, or what is not known."""

    step: PlannedStep
    verdict: StepVerdict = StepVerdict.UNDECIDED
    series_id: str = ""
    has_ended: bool = False
    valid: int = 0
    lost: int = 0
    speed: SpeedDecision | None = None
    nodes: Mapping[str, NodeSpeed] = field(default_factory=dict)
    reason: Hint = ""

    @property
    def is_decided(self) -> bool:
        """Whether further runs change nothing."""
        return self.verdict is not StepVerdict.UNDECIDED


NodeShares = Mapping[str, Mapping[str, float]]


def judge_step(
    suite: Suite, step: PlannedStep, matrix: Matrix, shares: NodeShares, passports: Mapping[str, Passport]
) -> StepProgress:
    """A step by the series that measures it. `shares`: of nodes, by run; `passports`: by run."""
    tries = [tried for cell in matrix.cells for tried in cell.tries]
    valid = [tried for tried in tries if tried.state is CellState.VALID]
    progress = StepProgress(
        step,
        series_id=matrix.series.series_id,
        has_ended=all(tried.has_ended for tried in tries),
        valid=len(valid),
        lost=sum(tried.state in LOST and tried.run is not None for tried in tries),
    )
    if progress.lost > suite.lost:
        reason = Message("{count} runs ended without a valid result; {most} may", count=progress.lost, most=suite.lost)
        return replace(progress, verdict=StepVerdict.FAILED, reason=reason)
    match step.kind:
        case StepKind.HEALTH:
            return _judge_health(progress, valid, passports)
        case StepKind.NODES:
            return _judge_nodes(suite, progress, valid, shares)
    return _judge_speed(progress, valid)


def _judge_speed(progress: StepProgress, valid: Sequence[Tried]) -> StepProgress:
    measured = progress.step.measured
    assert measured  # noqa: S101  # every step of scale has it
    assert measured.reference  # noqa: S101  # and no plan is launched without its reference
    values = [tried.throughput for tried in valid if tried.throughput]
    decision = decide_speed(values, measured.reference, measured.looks)
    return replace(progress, verdict=decision.verdict, speed=decision)


def _judge_nodes(suite: Suite, progress: StepProgress, valid: Sequence[Tried], shares: NodeShares) -> StepProgress:
    step = progress.step
    runs = [found for tried in valid if tried.run and (found := shares.get(tried.run.run_id))]
    nodes = judge_nodes(runs, step.share, suite.fail_alpha, step.runs)
    progress = replace(progress, nodes=nodes)
    if slow := sorted((node.ratio, name) for name, node in nodes.items() if node.verdict is NodeVerdict.SLOW):
        names = ", ".join(f"{name} ({ratio:.1%})" for ratio, name in slow[:NAMED])
        reason = Message("{count} slow: {names}", count=len(slow), names=names)
        return replace(progress, verdict=StepVerdict.FAILED, reason=reason)
    if valid and len(nodes) < step.spec.node_count:
        reason = Message(
            "{count} of {nodes} nodes have a name and a speed", count=len(nodes), nodes=step.spec.node_count
        )
        return replace(progress, reason=reason)
    is_ok = bool(nodes) and all(node.verdict is NodeVerdict.OK for node in nodes.values())
    return replace(progress, verdict=StepVerdict.PASSED if is_ok else StepVerdict.UNDECIDED)


def _judge_health(progress: StepProgress, valid: Sequence[Tried], passports: Mapping[str, Passport]) -> StepProgress:
    """Failed by any card that its tool calls other than healthy; what no tool examined is said, and fails nothing."""
    if not valid:
        return progress
    passport = next((found for tried in valid if tried.run and (found := passports.get(tried.run.run_id))), None)
    usual = passport.facts.get("accelerator.health", "") if passport else ""
    differing = {
        one.host or str(one.node): one.value
        for one in (passport.differences if passport else ())
        if one.name == "accelerator.health"
    }
    ill = sorted(f"{name}: {value}" for name, value in differing.items() if value != _HEALTHY)
    if usual not in ("", _HEALTHY):
        ill.insert(0, usual)
    if ill:
        reason = Message("{count} not healthy: {names}", count=len(ill), names="; ".join(ill[:NAMED]))
        return replace(progress, verdict=StepVerdict.FAILED, reason=reason)
    captured = passport.nodes if passport and usual else 0
    nodes = progress.step.spec.node_count
    reason = Message("{count} of {nodes} nodes have a tool that examined their cards", count=captured, nodes=nodes)
    return replace(progress, verdict=StepVerdict.PASSED, reason="" if captured >= nodes else reason)
