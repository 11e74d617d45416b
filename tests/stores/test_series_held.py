"""Budgets in money and series: each is held as a whole, before its first run or when it has cost more than expected."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import NotAllowed, SpecError, StaleRun
from aisbench_core.model import Actor, Role, Run, RunState, Series, SeriesState, WayIn
from aisbench_core.model.token import TokenRequest
from aisbench_core.running.series.snapshot import SeriesSnapshot
from aisbench_core.store.ledger.series import SeriesLedger
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import PROFILE, SPEC, SeriesBench

LEAD = Actor("lena", frozenset({Role.VIEWER, Role.ENGINEER, Role.LEAD}), WayIn.CONSOLE)
OTHER_LEAD = Actor("otto", LEAD.roles, WayIn.CONSOLE)
ONE_HOUR_AT_MOST = SPEC.model_copy(update={"auto_stop_hours": 1})
ONE_HOUR = 12.5
"""What an hour of a node costs on the profile, in CNY."""


@pytest.fixture
def bench(tmp_path: Path, ledger_url: str) -> SeriesBench:
    """A bench whose runs cost money."""
    (tmp_path / "data" / "profiles").mkdir(parents=True)
    paid = PROFILE.replace("rehearsal: true", "rehearsal: false")
    (tmp_path / "data" / "profiles" / "quiet.yaml").write_text(paid, "utf-8")
    return SeriesBench.on(tmp_path / "data", ledger=ledger_url)


def limit(bench: SeriesBench, amount: float, scope: str = "person") -> None:
    plan = {"scope": scope, "amount": amount, "currency": "CNY"}
    bench.core.budgets.save(plan, named("boss"))


def reserved(bench: SeriesBench) -> list[float]:
    return [use.reserved for use in bench.core.budgets.uses()]


def new_series(bench: SeriesBench, cells: int = 3) -> Series:
    return bench.launch(ONE_HOUR_AT_MOST, repeats=cells)


def launch_single(bench: SeriesBench) -> Run:
    return bench.core.runs.launch(ONE_HOUR_AT_MOST, "quiet", named(PERSON))


def test_a_series_that_fits_reserves_all_its_cells_and_gives_back_what_they_do_not_need(bench: SeriesBench) -> None:
    limit(bench, 4 * ONE_HOUR)
    series = new_series(bench)
    assert reserved(bench) == [3 * ONE_HOUR]

    [first] = bench.admit()
    during = reserved(bench)
    bench.end(first, hours=0.5)

    assert during == [3 * ONE_HOUR], "a cell that is launched is not counted twice"
    [use] = bench.core.budgets.uses()
    assert (use.spent, use.reserved) == (ONE_HOUR / 2, 2 * ONE_HOUR)
    assert bench.look(series).state is SeriesState.RUNNING
    assert launch_single(bench).state is RunState.PREPARING
    assert launch_single(bench).state is RunState.HELD, "the rest is reserved for the series"


def test_an_estimate_of_hours_is_no_time_limit(bench: SeriesBench) -> None:
    limit(bench, 3 * ONE_HOUR)

    unlimited = bench.launch(repeats=1, hours_per_run=0.0001)
    too_long = bench.launch(SPEC.model_copy(update={"auto_stop_hours": 4}), repeats=1, hours_per_run=0.0001)
    short = bench.launch(ONE_HOUR_AT_MOST, repeats=3, hours_per_run=24)

    assert "the cost of this launch is unknown (no time limit is set (auto_stop_hours))" in str(unlimited.held)
    assert "this launch is expected to cost 50.00 CNY" in str(too_long.held)
    assert short.held == ""
    assert reserved(bench) == [3 * ONE_HOUR]
    assert {run.series_id for run in bench.admit()} == {short.series_id}


def test_a_budget_may_allow_series_without_a_time_limit(bench: SeriesBench) -> None:
    plan = {"scope": "person", "amount": ONE_HOUR, "currency": "CNY", "allow_unknown": True}
    bench.core.budgets.save(plan, named("boss"))

    assert bench.launch(repeats=1).held == ""
    assert len(bench.admit()) == 1


def test_a_series_that_does_not_fit_launches_nothing_until_somebody_approves_all_of_it(bench: SeriesBench) -> None:
    limit(bench, 2 * ONE_HOUR)
    series = new_series(bench)

    assert bench.admit() == []
    matrix = bench.look(series)
    assert matrix.state is SeriesState.HELD
    assert "this launch is expected to cost 37.50 CNY; the budget of" in str(matrix.series.held)
    assert reserved(bench) == []
    [waiting] = bench.core.approvals.list_waiting().series
    assert waiting.series_id == series.series_id

    bench.core.approvals.approve_series(series.series_id, LEAD)
    done = bench.end_all(series)

    assert done.state is SeriesState.COMPLETED
    assert [event.message for event in done.events if "approv" in event.message][-1] == "approved by lena"


def test_nobody_but_an_admin_approves_a_series_of_ones_own(bench: SeriesBench) -> None:
    limit(bench, 0)
    series = new_series(bench)

    with pytest.raises(NotAllowed, match="may not approve a launch of"):
        bench.core.approvals.approve_series(series.series_id, Actor(PERSON, LEAD.roles, WayIn.CONSOLE))

    bench.core.approvals.approve_series(series.series_id, named(PERSON))
    with pytest.raises(SpecError, match="only launches that wait for approval"):
        bench.core.approvals.approve_series(series.series_id, LEAD)


def test_nobody_but_an_admin_approves_cells_that_one_has_run_again(bench: SeriesBench) -> None:
    limit(bench, ONE_HOUR)
    series = new_series(bench, cells=1)
    [only] = bench.admit()
    bench.end(only, hours=1, state=RunState.FAILED)
    limit(bench, 0)
    bench.core.series.rerun(series.series_id, LEAD)
    assert bench.look(series).state is SeriesState.HELD

    with pytest.raises(NotAllowed, match="lena may not approve a launch of their own"):
        bench.core.approvals.approve_series(series.series_id, LEAD)

    assert bench.admit() == []
    assert bench.core.approvals.requesters(series.series_id) == {PERSON, "lena"}
    bench.core.approvals.approve_series(series.series_id, OTHER_LEAD)
    assert [run.created_by for run in bench.admit()] == ["lena"]


def test_who_has_run_cells_again_that_are_launched_by_now_approves_others(bench: SeriesBench) -> None:
    limit(bench, 10 * ONE_HOUR)
    series = new_series(bench, cells=1)
    for who in (LEAD, named(PERSON)):
        [run] = bench.admit()
        bench.end(run, hours=1, state=RunState.FAILED)
        limit(bench, 10 * ONE_HOUR if who is LEAD else 0)
        bench.core.series.rerun(series.series_id, who)

    bench.core.approvals.approve_series(series.series_id, LEAD)

    assert [run.created_by for run in bench.admit()] == [PERSON]


def test_a_series_that_is_held_while_a_cell_is_about_to_be_launched_launches_none(bench: SeriesBench) -> None:
    limit(bench, ONE_HOUR)
    series = new_series(bench)
    bench.core.approvals.approve_series(series.series_id, LEAD)
    [first] = bench.admit()
    bench.end(first, hours=1, state=RunState.FAILED)
    before = SeriesSnapshot.of(bench.core.series.ledger, bench.core.series.get(series.series_id), bench.clock())
    assert before.series.approved
    assert before.next

    bench.core.series.rerun(series.series_id, named(PERSON))
    with pytest.raises(StaleRun):
        bench.core.series.start_admitting().launch(before, before.next)

    assert bench.core.ledger.active() == []
    assert bench.look(series).state is SeriesState.HELD
    assert not [path for path in bench.core.settings.runs_dir.iterdir() if path.name != first.run_id]


def test_a_declined_series_ends_and_says_who_declined_it_and_why(bench: SeriesBench) -> None:
    limit(bench, 0)
    series = new_series(bench)

    bench.core.approvals.decline_series(series.series_id, "next month", LEAD)

    matrix = bench.look(series)
    assert (matrix.state, matrix.series.held) == (SeriesState.STOPPED, "")
    assert matrix.events[-1].message == "declined by lena: next month"
    assert bench.admit() == []


@pytest.mark.every_store
def test_a_series_that_has_cost_more_than_expected_is_held_before_it_exceeds_the_budget(bench: SeriesBench) -> None:
    limit(bench, 3 * ONE_HOUR)
    series = new_series(bench)
    [first] = bench.admit()
    bench.end(first, hours=1.5)

    assert bench.admit() == []

    assert bench.look(series).state is SeriesState.HELD
    [use] = bench.core.budgets.uses()
    assert (use.spent, use.reserved) == (1.5 * ONE_HOUR, 0.0)
    assert not [path for path in bench.core.settings.runs_dir.iterdir() if path.name != first.run_id]
    bench.core.approvals.approve_series(series.series_id, LEAD)
    assert len(bench.admit()) == 1


def test_cells_that_are_run_again_need_room_too(bench: SeriesBench) -> None:
    limit(bench, ONE_HOUR)
    series = new_series(bench, cells=1)
    [only] = bench.admit()
    bench.end(only, hours=1, state=RunState.FAILED)

    matrix = bench.core.series.rerun(series.series_id, named(PERSON))

    assert matrix.state is SeriesState.HELD
    assert bench.admit() == []


def test_cells_that_somebody_else_has_just_run_again_need_no_room_twice(bench: SeriesBench) -> None:
    class Late(SeriesLedger):  # somebody is quicker than whoever uses it
        def add_attempts(self, *args: Any) -> None:
            bench.core.series.rerun(series.series_id, LEAD)
            super().add_attempts(*args)

    limit(bench, 2 * ONE_HOUR, "everybody")
    series = new_series(bench, cells=1)
    [only] = bench.admit()
    bench.end(only, hours=1, state=RunState.FAILED)

    matrix = replace(bench.core.series, ledger=Late(bench.core.ledger)).rerun(series.series_id, named(PERSON))

    assert (matrix.state, matrix.series.held) == (SeriesState.RUNNING, "")
    assert len([event for event in matrix.events if str(event.message).startswith("run again")]) == 1
    assert reserved(bench) == [ONE_HOUR]
    assert [run.created_by for run in bench.admit()] == ["lena"]


def test_cells_of_a_person_whose_access_was_revoked_wait_until_it_is_given_again(bench: SeriesBench) -> None:
    series, others = new_series(bench, cells=2), new_series(bench, cells=1)
    bench.core.people.set_role("boss", Role.ADMIN, named("boss"))
    bench.core.people.set_role("ann", Role.ENGINEER, named("boss"))
    [first, other] = bench.admit()
    bench.end(first, hours=1, state=RunState.FAILED)
    bench.end(other, hours=1)
    bench.core.series.stop(series.series_id, named(PERSON))
    bench.core.series.rerun(series.series_id, named("ann"))
    bench.core.people.revoke("ann", named("boss"))

    assert bench.admit() == []

    matrix = bench.look(series)
    assert str(matrix.series.launch_error).startswith("the access of ann was revoked")
    assert not [
        path for path in bench.core.settings.runs_dir.iterdir() if path.name not in (first.run_id, other.run_id)
    ]
    bench.core.people.set_role("ann", Role.ENGINEER, named("boss"))
    bench.clock.move(60)
    assert [run.created_by for run in bench.admit()] == ["ann"]
    assert bench.look(series).series.launch_error == ""
    assert bench.look(others).state is SeriesState.COMPLETED


@pytest.mark.every_store
def test_cells_that_a_revoked_token_asked_for_are_not_launched(bench: SeriesBench) -> None:
    token, _ = bench.core.tokens.create(TokenRequest(name="ci", role=Role.ENGINEER), named("boss"))
    plan = bench.core.series.plan(SPEC, {"repeats": 2}).plan
    series = bench.core.series.launch(plan, "", token.actor)
    [first] = bench.admit()
    bench.end(first, hours=1)

    bench.core.tokens.revoke(token.token_id, named("boss"))
    bench.clock.move(60)

    assert bench.admit() == []
    error = str(bench.look(series).series.launch_error)
    assert error.startswith(f"token {token.token_id} was revoked by boss (stop the series and run its cells again")
    bench.core.series.stop(series.series_id, named("boss"))
    bench.core.series.rerun(series.series_id, named("boss"))
    bench.clock.move(60)
    assert [run.created_by for run in bench.admit()] == ["boss"]


def test_cells_that_were_asked_for_go_on_when_the_token_has_expired(bench: SeriesBench) -> None:
    token, _ = bench.core.tokens.create(TokenRequest(name="ci", role=Role.ENGINEER, days=1), named("boss"))
    bench.core.series.launch(bench.core.series.plan(SPEC, {"repeats": 1}).plan, "", token.actor)
    bench.clock.move(2 * 86400)

    [run] = bench.admit()

    assert run.created_by == "ci"


def test_cells_of_somebody_who_may_not_launch_any_more_wait(bench: SeriesBench) -> None:
    series = new_series(bench, cells=1)
    bench.core.people.set_role("boss", Role.ADMIN, named("boss"))
    bench.core.people.set_role(PERSON, Role.VIEWER, named("boss"))

    assert bench.admit() == []

    assert str(bench.look(series).series.launch_error).startswith("permission denied: run.create needs")


def test_an_access_that_is_revoked_while_a_cell_is_about_to_be_launched_counts(bench: SeriesBench) -> None:
    class Late(SeriesLedger):  # the access ends while the run's folder is made
        def admit(self, *args: Any) -> Run:
            bench.core.people.revoke(PERSON, named("boss"))
            return super().admit(*args)

    new_series(bench, cells=1)
    for who, role in (("boss", Role.ADMIN), (PERSON, Role.ENGINEER)):
        bench.core.people.set_role(who, role, named("boss"))

    replace(bench.core.series, ledger=Late(bench.core.ledger)).admission()()

    assert bench.core.ledger.active() == []
    assert list(bench.core.settings.runs_dir.iterdir()) == []


@pytest.mark.every_store
def test_each_series_can_have_a_budget_of_its_own(bench: SeriesBench) -> None:
    limit(bench, 2 * ONE_HOUR, "series")

    fits, too_dear = new_series(bench, cells=2), new_series(bench)

    assert (fits.held, bool(too_dear.held)) == ("", True)
    assert f"the budget of series {too_dear.series_id} is 25.00 CNY" in str(too_dear.held)
    assert launch_single(bench).state is RunState.PREPARING


@pytest.mark.every_store
def test_a_series_that_nobody_approves_ends_after_a_week(bench: SeriesBench) -> None:
    limit(bench, 0)
    series = new_series(bench)
    bench.clock.move(6.9 * 86400)
    bench.admit()
    assert bench.look(series).state is SeriesState.HELD

    bench.clock.move(0.2 * 86400)
    bench.admit()

    matrix = bench.look(series)
    assert matrix.state is SeriesState.STOPPED
    assert matrix.events[-1].message == "nobody approved it in time"


@pytest.mark.every_store
def test_a_held_series_can_be_stopped_by_the_person_who_asked(bench: SeriesBench) -> None:
    limit(bench, 0)
    series = new_series(bench)

    bench.core.series.stop(series.series_id, named(PERSON))

    assert bench.look(series).state is SeriesState.STOPPED
    assert bench.core.approvals.list_waiting().series == []
