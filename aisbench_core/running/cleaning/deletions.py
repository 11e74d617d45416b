"""Deletes ended runs: a person decides it in the ledger; the follower removes everything but their records."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError, Problem, SpecError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.model import Actor, Clock, Event, Role, RunPart, WayIn
from aisbench_core.model.annotation import reason_error
from aisbench_core.running.annotations import AnnotationService
from aisbench_core.running.cleaning.plans import CleaningPlan, Obstacle
from aisbench_core.running.cleaning.service import Cleaning
from aisbench_core.store.ledger.deletions import Deletion, DeletionLedger
from aisbench_core.store.ledger.ledger import Ledger

LOG = logging.getLogger(__name__)

RETRY = timedelta(minutes=1)
"""From one try to remove what belongs to a deleted run to the next, such as while its region does not answer."""


@dataclass(frozen=True, slots=True)
class Deletions:
    """What people may do. Threads may share it."""

    ledger: Ledger
    deletions: DeletionLedger
    clock: Clock

    def find(self, run_id: str) -> Deletion | None:
        """That a run, by its whole id, was deleted; None if it was not."""
        return self.deletions.find(run_id)

    @permitted
    def delete(self, run_id: str, reason: str, actor: Actor) -> Deletion:
        """Take an ended run out of lists and statistics, and let the follower remove all but its record.

        Raises RunNotFound, SpecError without a reason or if the run has not ended, and StaleRun."""
        run = self.ledger.get(run_id)
        reason = " ".join(reason.split())
        problems = [Problem("reason", error)] if (error := reason_error(reason)) else []
        if not run.state.is_terminal:
            problems.append(Problem("state", Message("the run has not ended: it is {state}", state=run.state)))
        if problems:
            raise SpecError(Message("deleting {run_id}", run_id=run.run_id), problems)
        note_values("", reason)
        now = self.clock()
        message = Message("deleted: {reason}", reason=reason)
        self.deletions.add(Deletion(run.run_id, now, actor.name, reason), Event.by(actor, run.run_id, now, message))
        return self.deletions.find(run.run_id) or Deletion(run.run_id, now, actor.name, reason)


class DeletionWork:
    """What a follower does: every step can be repeated, so whoever follows next ends what another one began."""

    def __init__(
        self, deletions: DeletionLedger, cleaning: Cleaning, annotations: AnnotationService, clock: Clock
    ) -> None:
        self._deletions, self._cleaning, self._annotations, self._clock = deletions, cleaning, annotations, clock
        self._next_try: dict[str, datetime] = {}

    def tick(self) -> None:
        """Remove what belongs to deleted runs. An error is logged, and the run tried again later."""
        for deletion in self._deletions.list_begun():
            now = self._clock()
            if self._next_try.get(deletion.run_id, now) > now + RETRY:  # the clock has jumped back
                self._next_try.pop(deletion.run_id)
            if self._next_try.get(deletion.run_id, now) > now:
                continue
            try:
                self._end_deletion(deletion)
            except AisbenchError as error:
                LOG.warning("run %s is deleted, but not all of it is removed: %s", deletion.run_id, error)
                self._next_try[deletion.run_id] = now + RETRY

    def _end_deletion(self, deletion: Deletion) -> None:
        actor = Actor(deletion.who, frozenset(Role), WayIn.FOLLOWER)
        self._annotations.set_aside(deletion.run_id, deletion.reason, actor)
        plan = self._cleaning.plan(deletion.run_id)
        if plan.free.items:
            self._cleaning.clean(plan.free, actor)
        now = self._clock()
        self._deletions.end(deletion.run_id, now, Event.by(actor, deletion.run_id, now, _describe_end(plan)))


def _describe_end(plan: CleaningPlan) -> Message:
    kept = [_describe_obstacle(obstacle) for obstacle in plan.obstacles]
    removed = Message("the rest is removed") if kept else Message("all but its record is removed")
    return join_parts("; ", [*kept, removed])


def _describe_obstacle(obstacle: Obstacle) -> Message:
    if obstacle.part is RunPart.JOB:
        return Message("its job stays: {reason}", reason=obstacle.reason)
    if obstacle.part is RunPart.OUTPUTS:
        return Message("its outputs stay: {reason}", reason=obstacle.reason)
    return Message("its logs stay: {reason}", reason=obstacle.reason)
