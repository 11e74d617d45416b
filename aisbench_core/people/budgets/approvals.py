"""Approvals of launches that no budget has room for. Nothing is sent to the cloud before one."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from aisbench_core.base.errors import NotAllowed, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.domain.access.permissions import has_role
from aisbench_core.model import (
    REASON_LETTERS,
    Actor,
    BudgetUse,
    Clock,
    Event,
    ExpectedCost,
    Role,
    Run,
    RunState,
    WaitingLaunches,
)
from aisbench_core.people.budgets.ledger import BudgetLedger, PlannedLaunch
from aisbench_core.people.budgets.series_holds import SeriesHolds
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.limits import is_revoked
from aisbench_core.store.ledger.series import SeriesLedger

LISTED = 200


@dataclass(frozen=True, slots=True)
class Approvals:
    """Decisions on held launches. Methods about one raise RunNotFound, SeriesNotFound, and SpecError if it is not held.

    Nobody approves a launch of one's own, except for admins, who could change the budget as well."""

    ledger: Ledger
    series: SeriesLedger
    budgets: BudgetLedger
    clock: Clock

    @staticmethod
    def is_series(launch_id: str) -> bool:
        """Whether an id is that of a series."""
        return launch_id.startswith("s")

    def find(self, start: str) -> str:
        """The id of a run or a series by a unique prefix of it."""
        if self.is_series(start):
            return self.series.get(start).series_id
        return self.ledger.get(start).run_id

    def list_waiting(self) -> WaitingLaunches:
        """Held launches, the newest first."""
        ids = SeriesHolds(self.ledger).list_waiting()
        series = sorted(self.series.of(ids), key=lambda one: ids.index(one.series_id))
        return WaitingLaunches(self.ledger.page((RunState.HELD,), limit=LISTED), series)

    def requesters(self, series_id: str) -> set[str]:
        """Whose launch a held series is: who launched it, and who had cells run again that wait."""
        return SeriesHolds(self.ledger).requesters(series_id)

    def uses(self, run: Run) -> list[BudgetUse]:
        """What is left of the budgets that a run is about, of the month of its launch."""
        cost = ExpectedCost(run.expected_cost, run.currency)
        return self.budgets.uses_of(PlannedLaunch(run.created_by, cost, run.created_at, run.series_id))

    @permitted
    def approve(self, run_id: str, actor: Actor) -> Run:
        """Let a held run go on, whatever budgets say. Raises NotAllowed for one's own, and for one of somebody whose
        access was revoked; StaleRun."""
        run = self.ledger.get(run_id)
        _require_other(actor, {run.created_by})
        self._require_access(run.created_by)
        _require_held(run.state is RunState.HELD, run.run_id, run.state)
        after = run.to(RunState.PREPARING, detail="")
        return self._store_run(run, after, actor, Message("approved by {who}", who=actor.name))

    @permitted
    def decline(self, run_id: str, reason: str, actor: Actor) -> Run:
        """End a held run before it begins; `reason` may be empty. Raises StaleRun."""
        run, message = self.ledger.get(run_id), _describe_decline(reason, actor)
        _require_held(run.state is RunState.HELD, run.run_id, run.state)
        after = run.to(RunState.COLLECTING, final_state=RunState.STOPPED, detail=message)
        return self._store_run(run, after, actor, message)

    @permitted
    def approve_series(self, series_id: str, actor: Actor) -> None:
        """Let all cells of a held series be launched, whatever budgets say.

        Raises NotAllowed for one's own, and for one with waiting cells that one had run again."""
        series = self.series.get(series_id)
        message = Message("approved by {who}", who=actor.name)
        event = Event.by(actor, series.series_id, self.clock(), message)
        held = SeriesHolds(self.ledger).approve(series.series_id, event, partial(_require_other, actor))
        _require_held(held, series.series_id)

    @permitted
    def decline_series(self, series_id: str, reason: str, actor: Actor) -> None:
        """Cancel what a held series has not launched yet; active runs go on."""
        series = self.series.get(series_id)
        event = Event.by(actor, series.series_id, self.clock(), _describe_decline(reason, actor))
        _require_held(SeriesHolds(self.ledger).end(series.series_id, event), series.series_id)

    def _require_access(self, who: str) -> None:
        with self.ledger.connection() as con:
            if is_revoked(con, who):
                raise NotAllowed(
                    Message("the access of {who} was revoked", who=who),
                    Message("decline it, or have an admin give the role again"),
                )

    def _store_run(self, run: Run, after: Run, actor: Actor, message: Message) -> Run:
        now = self.clock()
        note_values(run.state, after.state)
        event = Event.by(actor, run.run_id, now, message)
        return self.ledger.advance(run, replace(after, updated_at=now, next_step_at=now), event)


def _require_other(actor: Actor, owners: Collection[str]) -> None:
    if actor.name in owners and not has_role(actor, Role.ADMIN):
        raise NotAllowed(
            Message("{who} may not approve a launch of their own", who=actor.name),
            Message("ask another lead, or an admin"),
        )


def _require_held(held: bool, subject: str, state: str = "") -> None:
    if not held:
        problem = Problem("state", Message("only launches that wait for approval can be approved or declined"), state)
        raise SpecError(Message("run {run_id}", run_id=subject), [problem])


def _describe_decline(reason: str, actor: Actor) -> Message:
    if len(reason) > REASON_LETTERS:
        problem = Problem("reason", Message("has at most {most} characters", most=REASON_LETTERS), str(len(reason)))
        raise SpecError(Message("decline"), [problem])
    if reason.strip():
        return Message("declined by {who}: {reason}", who=actor.name, reason=" ".join(reason.split()))
    return Message("declined by {who}", who=actor.name)
