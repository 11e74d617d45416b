"""Plans, launches, shows and stops acceptances. Each step is a series, which the follower launches after the other."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.settings import Profile
from aisbench_core.domain.acceptance.acceptance import (
    Acceptance,
    AcceptancePlan,
    AcceptanceState,
    PlannedStep,
    end_acceptance,
    plan_steps,
)
from aisbench_core.domain.acceptance.plan import plan_measured_steps
from aisbench_core.domain.acceptance.suite import Reference, Suites
from aisbench_core.domain.access import permitted, permitted_for
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.costs import estimate_cost
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.domain.preflight.rules.resources import cards_of_flavor
from aisbench_core.model import Actor, Clock, Event, SeriesPlan
from aisbench_core.running.accepting.judging import StepProgress, judge_step
from aisbench_core.running.accepting.references import find_speed
from aisbench_core.running.series.service import SeriesService
from aisbench_core.store.ledger.acceptances import AcceptanceLedger
from aisbench_core.store.run_folders.run_paths import new_id


@dataclass(frozen=True, slots=True)
class AcceptanceDraft:
    """A plan before launch. `cost` in `currency`: of all planned runs; None without a price."""

    plan: AcceptancePlan
    profile: str
    cost: float | None
    currency: str


def _find_creator(self: "AcceptanceService", acceptance_id: str, **_: object) -> str | None:
    try:
        return self.ledger.get(acceptance_id).created_by
    except ConfigError:  # said by the method itself
        return None


@dataclass(frozen=True, slots=True)
class AcceptanceService:
    """All acceptances of this console. Threads may share it; methods about one raise ConfigError."""

    ledger: AcceptanceLedger
    series: SeriesService
    suites: Suites
    regions: Regions
    clock: Clock

    def plan(self, suite_id: str, references: Mapping[int, Reference], profile: str = "") -> AcceptanceDraft:
        """The plan with its risks and its cost; nothing is stored. Raises SpecError, ConfigError, CloudError."""
        suite, chosen = self.suites.get(suite_id), self.regions.profile(profile)
        measured = plan_measured_steps(suite, partial(find_speed, self.series.warehouse), references)
        plan = plan_steps(suite, measured, rehearsal=chosen.rehearsal)
        plan = replace(plan, steps=tuple(self._use_all_cards(step, chosen) for step in plan.steps))
        for step in plan.steps:
            self.series.check_plan(make_series_plan(plan, step), chosen.name)
        costs = [estimate_cost(step.spec, chosen, step.hours * step.runs) for step in plan.steps]
        cost = None if None in costs else sum(cost for cost in costs if cost is not None)
        budget = suite.budget
        if budget.money is not None and not chosen.rehearsal:
            _require_money(cost, chosen.currency, budget.money, budget.currency)
        return AcceptanceDraft(plan, chosen.name, cost, chosen.currency)

    def _use_all_cards(self, step: PlannedStep, profile: Profile) -> PlannedStep:
        """Cards that are not set are all of the flavor. Raises CloudError if only the region knows how many."""
        if "cards_per_node" in step.spec.model_fields_set:
            return step
        workloads = self.series.workloads
        cards = cards_of_flavor(subject_of(step.spec, profile, workloads))
        if not cards:
            cards = cards_of_flavor(subject_of(step.spec, profile, workloads, self.regions.flavors(profile.name)))
        return replace(step, spec=step.spec.model_copy(update={"cards_per_node": cards})) if cards else step

    @permitted
    def launch(self, draft: AcceptanceDraft, actor: Actor, token: str = "") -> Acceptance:
        """Store an acceptance, whose steps the follower launches. A token launches once."""
        for step in draft.plan.steps:
            require_open_files(step.spec, actor, self.series.runs.open_folders)
        now = self.clock()
        acceptance = Acceptance(new_id("a", now), draft.plan, draft.profile, now, actor.name, actor.grant)
        event = Event.by(actor, acceptance.acceptance_id, now, Message("launched"))
        return self.ledger.add(acceptance, event, token)

    def get(self, acceptance_id: str) -> Acceptance:
        """One acceptance by its id or a unique prefix of it."""
        return self.ledger.get(acceptance_id)

    def list_newest(self) -> list[Acceptance]:
        """Acceptances, newest first."""
        return self.ledger.list_newest()

    def show_steps(self, acceptance: Acceptance) -> list[StepProgress]:
        """Each step now, in the order of their launch."""
        return [self.show_step(acceptance, number) for number in range(len(acceptance.plan.steps))]

    def show_step(self, acceptance: Acceptance, number: int) -> StepProgress:
        """One step now."""
        step = acceptance.plan.steps[number]
        series = self.series.ledger.launched_with(acceptance.get_token(number))
        if series is None:
            return StepProgress(step)
        matrix = self.series.matrix(series.series_id)
        run_ids = [tried.run.run_id for cell in matrix.cells for tried in cell.tries if tried.run]
        warehouse = self.series.warehouse
        shares = warehouse.cards.find_node_shares(run_ids) if run_ids else {}
        passports = warehouse.runs.find_passports(run_ids) if run_ids else {}
        return judge_step(acceptance.plan.suite, step, matrix, shares, passports)

    @permitted_for(_find_creator)
    def stop(self, acceptance_id: str, actor: Actor) -> Acceptance:
        """End an acceptance and stop what it has launched. Can be repeated."""
        acceptance, now = self.get(acceptance_id), self.clock()
        reason = Message("stopped by {who}", who=actor.name)
        ended = end_acceptance(acceptance, AcceptanceState.STOPPED, reason, now)
        self.ledger.end(ended, Event.by(actor, acceptance.acceptance_id, now, Message("stopped")))
        for number in range(len(acceptance.plan.steps)):
            if series := self.series.ledger.launched_with(acceptance.get_token(number)):
                self.series.stop(series.series_id, actor)
        return self.get(acceptance.acceptance_id)


def make_series_plan(plan: AcceptancePlan, step: PlannedStep) -> SeriesPlan:
    """The series that measures a step, one run after the other."""
    return SeriesPlan(
        spec=step.spec,
        name=f"{plan.suite.id} {step.name}"[:80],
        node_counts=(step.spec.node_count,),
        repeats=step.runs,
        hours_per_run=step.hours,
    )


def _require_money(cost: float | None, currency: str, most: float, asked: str) -> None:
    if cost is None or currency != asked:
        raise ConfigError(
            Message("what the acceptance costs in {currency} is not known", currency=asked),
            Message("state price_per_node_hour and currency in the profile, or leave the money out of the suite"),
        )
    if cost > most:
        raise ConfigError(
            Message("all planned runs cost {cost:.2f} {currency}, and the suite allows {most:.2f}", cost=cost,
                    currency=currency, most=most),
            Message("plan fewer runs, or raise the budget in a copy of the suite"),
        )  # fmt: skip
