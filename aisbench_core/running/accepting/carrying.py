"""What the follower does for acceptances: it launches the next step, ends those that are decided, and decides.

Nothing is remembered between two ticks: which step is next follows from the series that were launched with its token,
and what it comes to from their runs. Whoever takes over after a kill goes on with the same."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.acceptance.acceptance import Acceptance, AcceptanceState, end_acceptance
from aisbench_core.domain.acceptance.decision_rule import StepVerdict
from aisbench_core.model import Event, Level, WayIn
from aisbench_core.running.accepting.judging import StepProgress
from aisbench_core.running.accepting.service import AcceptanceService, make_series_plan
from aisbench_core.running.series.admission import Acting

LOG = logging.getLogger(__name__)

ASK_AGAIN = Message("stop the acceptance and launch it again, or have an admin give the role again")


@dataclass(slots=True)
class Carrying:
    """For one thread at a time."""

    acceptances: AcceptanceService
    acting: Acting
    _steps: dict[str, tuple[Acceptance, int]] = field(default_factory=dict)
    _logged: dict[str, str] = field(default_factory=dict)

    def tick(self) -> None:
        """Do what is due for each acceptance. Never raises: runs must go on."""
        try:
            running = self.acceptances.ledger.list_running()
        except Exception as error:
            self._log_once("acceptances", error)
            return
        for acceptance in running:
            try:
                self._carry(acceptance)
            except (NotAllowed, SpecError, ConfigError) as error:
                self._end(acceptance, AcceptanceState.UNDECIDED, error.description)
            except Exception as error:
                self._log_once(acceptance.acceptance_id, error)

    def wants_more(self, series_id: str) -> bool:
        """Whether a series needs runs: that of a step does until it is decided, by what has ended at this moment."""
        if series_id not in self._steps:
            return True
        return not self.acceptances.show_step(*self._steps[series_id]).is_decided

    def _carry(self, acceptance: Acceptance) -> None:
        """Go to the first step that has not passed, and do what it needs.

        Nothing changes while a run is active, or while somebody has to approve: the warehouse is not opened then."""
        if self._is_waiting(acceptance):
            return
        for number in range(len(acceptance.plan.steps)):
            progress = self.acceptances.show_step(acceptance, number)
            if not progress.series_id:
                self._launch(acceptance, number)
                return
            self._steps[progress.series_id] = acceptance, number
            if progress.is_decided:
                self._drop_waiting(progress)
            elif not progress.has_ended:
                return
            if progress.verdict is StepVerdict.FAILED:
                self._end(acceptance, AcceptanceState.REFUSED, _describe_step(progress))
                return
            if progress.verdict is StepVerdict.UNDECIDED:
                self._end(acceptance, AcceptanceState.UNDECIDED, _describe_step(progress))
                return
        self._end(acceptance, AcceptanceState.ACCEPTED, Message("all steps passed"))

    def _is_waiting(self, acceptance: Acceptance) -> bool:
        ledger, steps = self.acceptances.series.ledger, range(len(acceptance.plan.steps))
        launched = [series for number in steps if (series := ledger.launched_with(acceptance.get_token(number)))]
        if any(series.held for series in launched):
            return True
        return any(not run.state.is_terminal for run in ledger.runs([series.series_id for series in launched]))

    def _launch(self, acceptance: Acceptance, number: int) -> None:
        actor = self.acting(acceptance.created_by, acceptance.grant, ASK_AGAIN)
        plan = make_series_plan(acceptance.plan, acceptance.plan.steps[number])
        series = self.acceptances.series.launch(plan, acceptance.profile, actor, acceptance.get_token(number))
        self._steps[series.series_id] = acceptance, number

    def _drop_waiting(self, progress: StepProgress) -> None:
        text = Message("no more runs are needed: {verdict}", verdict=progress.verdict.label)
        event = Event(progress.series_id, self.acceptances.clock(), WayIn.FOLLOWER, Level.INFO, text)
        self.acceptances.series.ledger.drop_waiting(progress.series_id, {0}, event)

    def _end(self, acceptance: Acceptance, state: AcceptanceState, reason: Message) -> None:
        now = self.acceptances.clock()
        text = Message("{state}: {reason}", state=state.label, reason=reason)
        event = Event(acceptance.acceptance_id, now, WayIn.FOLLOWER, Level.INFO, text)
        self.acceptances.ledger.end(end_acceptance(acceptance, state, reason, now), event)

    def _log_once(self, what: str, error: Exception) -> None:
        if self._logged.get(what) != str(error):
            bug = None if isinstance(error, AisbenchError) else error
            LOG.warning("%s: cannot go on: %s", what, error, exc_info=bug)
        self._logged[what] = str(error)


def start_admission(acceptances: AcceptanceService, acting: Acting) -> Callable[[], None]:
    """What a follower calls at every tick: acceptances go on, then series launch the cells that are still needed."""
    carrying, admitting = Carrying(acceptances, acting), acceptances.series.start_admitting()
    admitting.wants_more = carrying.wants_more

    def tick() -> None:
        carrying.tick()
        admitting.admit()

    return tick


def _describe_step(progress: StepProgress) -> Message:
    """Why a step ends an acceptance."""
    if progress.reason:
        return Message("step {name}: {reason}", name=progress.step.name, reason=progress.reason)
    speed = progress.speed
    if speed is None or speed.lower is None or speed.upper is None:
        return Message("step {name}: {count} valid runs are too few", name=progress.step.name, count=progress.valid)
    return Message(
        "step {name}: between {lower:.1%} and {upper:.1%} of the reference after {count} runs",
        name=progress.step.name,
        lower=speed.lower,
        upper=speed.upper,
        count=speed.runs,
    )
