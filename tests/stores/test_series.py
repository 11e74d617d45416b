"""Series in the ledger: what is planned, and which cell comes next."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aisbench_core.base.errors import SeriesNotFound, SpecError, StaleRun
from aisbench_core.model import Event, Level, SeriesState
from aisbench_core.running.series.snapshot import SeriesSnapshot
from aisbench_core.store.ledger.series import SeriesLedger
from tests import records as a
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import PROFILE, SPEC, SeriesBench


@pytest.fixture
def bench(tmp_path: Path, ledger_url: str) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data", ledger=ledger_url)


# --- planning -------------------------------------------------------------------------------------------


def test_every_row_is_measured_once_before_any_is_measured_again_the_fewest_nodes_first(bench: SeriesBench) -> None:
    series = bench.launch(node_counts="4, 1，2", repeats=2)

    seen = []
    for _ in range(6):
        (run,) = bench.admit()
        seen.append((run.series_index, run.spec.node_count))
        bench.end(run)

    assert seen == [(1, 1), (2, 2), (3, 4), (4, 1), (5, 2), (6, 4)]
    assert bench.look(series).state is SeriesState.COMPLETED


def test_the_estimate_is_nodes_times_the_persons_hours_and_the_profiles_price(bench: SeriesBench) -> None:
    answers = {"node_counts": "1,2,4", "repeats": 3, "hours_per_run": 0.5, "parallel": 2, "budget": 5}
    profiles = bench.core.settings.profiles_dir
    (profiles / "paid.yaml").write_text(PROFILE.replace("rehearsal: true\n", ""), "utf-8")

    found = bench.core.series.plan(SPEC, answers, "paid").estimate

    assert bench.core.series.plan(SPEC, answers).estimate.cost is None, "a rehearsal costs nothing"
    assert (found.cells, found.node_hours, found.wall_hours) == (9, 10.5, 2.5)
    assert (found.cost, found.currency) == (131.25, "CNY")


@pytest.mark.parametrize(
    ("answers", "field"),
    [
        ({"node_counts": "1,two"}, "node_counts.1"),
        ({"node_counts": "0"}, "node_counts.0"),
        ({"node_counts": " , "}, "node_counts"),
        ({"repeats": 0}, "repeats"),
        ({"parallel": 0}, "parallel"),
        ({"hours_per_run": float("nan")}, "hours_per_run"),
        ({"budget": -1}, "budget"),
        ({"node_counts": ",".join(map(str, range(1, 100))), "repeats": 100}, "cells"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused_by_its_name(
    bench: SeriesBench, answers: dict[str, object], field: str
) -> None:
    with pytest.raises(SpecError) as refused:
        bench.core.series.plan(SPEC, answers)

    assert [problem.field for problem in refused.value.problems] == [field]


def test_a_series_with_a_cell_that_cannot_run_is_refused_whole_and_says_which(bench: SeriesBench) -> None:
    draft = bench.core.series.plan(SPEC, {"node_counts": "1,2", "versions": "numpy2,9.9"})

    with pytest.raises(SpecError, match=r"1 node · 9\.9, 2 nodes · 9\.9: "):
        bench.core.series.launch(draft.plan, "", named(PERSON))

    assert {tuple(row.title for row in found.rows) for found in draft.errors} == {("1 node · 9.9", "2 nodes · 9.9")}
    assert bench.core.series.count() == 0


def test_another_version_brings_its_own_engine_and_keeps_what_the_person_chose(bench: SeriesBench) -> None:
    workload = next(each for each in bench.core.workloads.all() if len(each.versions) > 1)
    old, new = list(workload.versions)[:2]
    filled = bench.core.workloads.fill_spec(
        SPEC.model_copy(update={"workload": workload.name, "framework_version": old})
    )

    rows = bench.core.series.plan(filled, {"versions": f"{old},{new}"}).rows

    assert rows[0].spec.engine_version == filled.engine_version
    assert rows[1].spec.engine_version == workload.edition(new).engine_version
    assert set(rows[1].spec.parameters) == set(workload.edition(new).parameters)


def test_images_are_engine_versions_or_custom_images(bench: SeriesBench) -> None:
    custom = SPEC.model_copy(update={"image_url": "team/bench:1", "command": "python train.py"})

    preset = bench.core.series.plan(SPEC, {"images": "engine-a,engine-b"}).rows
    own = bench.core.series.plan(custom, {"images": "team/bench:1,team/bench:2"}).rows

    assert [row.spec.engine_version for row in preset] == ["engine-a", "engine-b"]
    assert [row.spec.image_url for row in own] == ["team/bench:1", "team/bench:2"]


# --- launching ------------------------------------------------------------------------------------------


def test_no_more_jobs_are_active_than_allowed(bench: SeriesBench) -> None:
    bench.launch(repeats=5, parallel=2)

    first = bench.admit()
    again = bench.admit()
    bench.end(first[0])
    third = bench.admit()

    assert [run.series_index for run in first] == [1, 2]
    assert again == first
    assert [run.series_index for run in third] == [2, 3]


def test_series_in_one_dedicated_pool_share_its_places_and_others_do_not(bench: SeriesBench) -> None:
    pooled = SPEC.model_copy(update={"pool_id": "pool-bench"})
    older, younger = (bench.launch(pooled, repeats=2, parallel=2) for _ in range(2))
    elsewhere = bench.launch(repeats=2, parallel=1)

    active = bench.admit()

    assert [run.series_id for run in active] == [older.series_id] * 2 + [elsewhere.series_id]
    assert bench.look(younger).state is SeriesState.PLANNED


def test_a_cell_becomes_a_run_once_whoever_asks_and_however_often(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)
    ledger = SeriesLedger(bench.core.ledger)
    (attempt,) = ledger.attempts([series.series_id])

    def admit(number: int) -> bool:
        try:
            ledger.admit(attempt, a.run(f"r-{number}"), Event(f"r-{number}", a.T0, "follower", Level.INFO, "launched"))
        except StaleRun:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(admit, range(16)))

    assert done.count(True) == 1
    assert bench.core.ledger.count() == 1


def test_a_crash_between_the_folder_and_the_ledger_leaves_the_cell_to_the_next_process(
    bench: SeriesBench, tmp_path: Path
) -> None:
    series = bench.launch(repeats=1)
    orphan = bench.core.settings.runs_dir / "r20261122-000000-orphan"
    orphan.mkdir(parents=True)

    other = SeriesBench.on(tmp_path / "data", ledger=bench.core.settings.ledger)
    (run,) = other.admit()
    bench.admit()

    assert bench.core.ledger.count() == 1
    assert run.series_id == series.series_id
    assert list(bench.core.files.records()) == []


def test_a_cancelled_cell_is_not_launched_by_one_who_saw_it_before(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)
    ledger = SeriesLedger(bench.core.ledger)
    (attempt,) = ledger.attempts([series.series_id])
    before = SeriesSnapshot.of(ledger, series, bench.clock())
    bench.core.series.stop(series.series_id, named(PERSON))

    with pytest.raises(StaleRun):
        bench.core.series.start_admitting().launch(before, attempt)

    assert bench.core.ledger.count() == 0
    assert list(bench.core.settings.runs_dir.iterdir()) == [], "and nothing of it stays on the disk"


def test_the_same_token_launches_one_series(bench: SeriesBench) -> None:
    plan = bench.core.series.plan(SPEC, {"repeats": 2}).plan

    first, second = (bench.core.series.launch(plan, "", named(PERSON), token="a-dialog") for _ in range(2))

    assert first == second
    assert bench.core.series.count() == 1


def test_a_profile_that_is_gone_holds_its_series_until_it_is_back_and_no_other(bench: SeriesBench) -> None:
    profiles = bench.core.settings.profiles_dir
    text = (profiles / "quiet.yaml").read_text("utf-8")
    (profiles / "other.yaml").write_text(text, "utf-8")
    series = bench.launch(repeats=1)
    plan = bench.core.series.plan(SPEC, {"repeats": 1}, "other").plan
    bench.core.series.launch(plan, "other", named(PERSON))
    (profiles / "quiet.yaml").unlink()

    active = bench.admit()
    held = bench.look(series)
    (profiles / "quiet.yaml").write_text(text, "utf-8")
    bench.admit()
    too_early = bench.look(series).state
    bench.clock.move(60)
    bench.admit()

    assert [run.profile for run in active] == ["other"]
    assert (held.state, too_early) == (SeriesState.HELD, SeriesState.HELD)
    assert "quiet" in held.series.launch_error
    assert bench.look(series).state is SeriesState.RUNNING
    assert bench.look(series).series.launch_error == ""


# --- the ledger -------------------------------------------------------------------------------------------


def test_series_are_found_by_the_beginning_of_their_id_and_listed_newest_first(bench: SeriesBench) -> None:
    older, newer = bench.launch(repeats=1), bench.launch(repeats=1, name="tonight")

    assert bench.core.series.get(newer.series_id[:-2]) == newer
    assert [matrix.series for matrix in bench.core.series.page()] == [newer, older]
    assert [matrix.series for matrix in bench.core.series.page(1, 1)] == [older]
    assert newer.title == "tonight"
    for unclear in ("", "s", "x"):
        with pytest.raises(SeriesNotFound):
            bench.core.series.get(unclear)
