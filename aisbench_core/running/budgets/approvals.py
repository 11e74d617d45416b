"""Approvals of launches that no budget has room for. Nothing is sent to the cloud before one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from aisbench_core.access import permitted
from aisbench_core.access.permissions import has_role
from aisbench_core.changes import note_values
from aisbench_core.errors import NotAllowed, Problem, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import Actor, Clock, Event, ExpectedCost, Role, Run, RunState, WaitingLaunch
from aisbench_core.running.budgets.ledger import BudgetLedger, PlannedLaunch
from aisbench_core.running.ledger import Ledger

MOST_LETTERS = 300
LISTED = 200


@dataclass(frozen=True, slots=True)
class Approvals:
    """Decisions on held launches; methods about one run raise RunNotFound."""

    ledger: Ledger
    budgets: BudgetLedger
    clock: Clock

    def waiting(self) -> list[Run]:
        """Held launches, the newest first."""
        return self.ledger.page((RunState.HELD,), limit=LISTED)

    def shown(self, run: Run) -> WaitingLaunch:
        """A held launch with what is left of the budgets that it is about."""
        cost = ExpectedCost(run.expected_cost, run.currency)
        planned = PlannedLaunch(run.created_by, cost, run.created_at, run.series_id)
        return WaitingLaunch(run, self.budgets.uses_of(planned))

    @permitted
    def approve(self, run_id: str, actor: Actor) -> Run:
        """Let a held run go on, whatever budgets say. Raises NotAllowed for one's own, except for admins; SpecError
        unless it is held, StaleRun if somebody decides at the same time."""
        message = Message("approved by {who}", who=actor.name)

        def approved(run: Run) -> Run:
            if run.created_by == actor.name and not has_role(actor, Role.ADMIN):
                raise NotAllowed(
                    Message("{who} may not approve a launch of {who}", who=actor.name),
                    Message("ask another lead, or an admin"),
                )
            return run.to(RunState.PREPARING, detail="")

        return self._decide(run_id, actor, message, approved)

    @permitted
    def decline(self, run_id: str, reason: str, actor: Actor) -> Run:
        """End a held run before it begins; `reason` may be empty. Raises SpecError unless it is held, StaleRun."""
        message = _declined(reason, actor)
        return self._decide(
            run_id, actor, message, lambda run: run.to(RunState.COLLECTING, verdict=RunState.STOPPED, detail=message)
        )

    def _decide(self, run_id: str, actor: Actor, message: Message, decided: Callable[[Run], Run]) -> Run:
        run, now = self.ledger.get(run_id), self.clock()
        if run.state is not RunState.HELD:
            problem = Problem("state", Message("only a held run can be approved or declined"), run.state)
            raise SpecError(Message("run {run_id}", run_id=run.run_id), [problem])
        after = decided(run)
        note_values(run.state, after.state)
        event = Event.by(actor, run.run_id, now, message)
        return self.ledger.advance(run, _due(after, now), event)


def _due(run: Run, now: datetime) -> Run:
    return replace(run, updated_at=now, next_step_at=now)


def _declined(reason: str, actor: Actor) -> Message:
    if len(reason) > MOST_LETTERS:
        problem = Problem("reason", Message("has at most {most} characters", most=MOST_LETTERS), str(len(reason)))
        raise SpecError(Message("decline"), [problem])
    if reason.strip():
        return Message("declined by {who}: {reason}", who=actor.name, reason=" ".join(reason.split()))
    return Message("declined by {who}", who=actor.name)
