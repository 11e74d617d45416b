"""Verdicts of stored runs: the same as at recording, under any ruleset."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.domain.rulesets.ruleset import Rulesets, get_shipped
from aisbench_core.model import (
    CollectedResult,
    Imported,
    Mode,
    RankResult,
    RunRecord,
    RunState,
    ServerResult,
    stated_of,
)
from aisbench_core.model.spec import canonical_json
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.rows import rows_of
from aisbench_core.warehouse.tables.schema import RESULTS, RUNS
from aisbench_core.warehouse.validity.evaluation import Evaluation, Evaluator, _written
from aisbench_core.warehouse.validity.facts import facts_of, stored_facts
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery, Validity
from tests import records as a
from tests.actors import TESTER

RULESETS = Rulesets(Path("none")).ids()

NUMBERS = st.one_of(
    st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 1e308, 5e-324, 1e-300, 949.0, 950.0, 1000.0]),
    st.floats(900, 1100),
)
MOMENTS = st.one_of(st.none(), st.integers(-1000, 100_000).map(lambda s: a.T0 + timedelta(seconds=s)))
PERIODS = [f"{name}_{end}_time" for name in ("prepare", "dataload", "proc", "total") for end in ("start", "end")]


@st.composite
def results(draw: st.DrawFn) -> RunRecord:
    """A run as it comes, or damaged in some of all ways."""
    mode = draw(st.sampled_from(Mode))
    nodes = draw(st.integers(1, 2))
    record = a.record(
        "odd",
        mode=mode.value,
        node_count=nodes,
        throughputs=draw(st.lists(NUMBERS, min_size=8 * nodes, max_size=8 * nodes)),
        accuracy=draw(st.one_of(st.none(), st.floats(0, 1.2), NUMBERS)),
        state=draw(st.sampled_from([RunState.COMPLETED, RunState.COMPLETED, RunState.FAILED, RunState.STOPPED])),
        rehearsal=draw(st.booleans()),
        synthetic_data=draw(st.booleans()),
        with_result=draw(st.integers(0, 5)) > 0,
    )
    run = replace(record.run, ended_at=draw(MOMENTS), started_at=draw(MOMENTS), duration_s=draw(st.floats(0, 1e6)))
    run = replace(run, code_sha256=draw(st.sampled_from(["", "c0de"])), detail=draw(st.text(max_size=20)))
    record = replace(record, run=run, described=draw(st.one_of(st.none(), st.sampled_from(DESCRIBED))))
    if draw(st.integers(0, 3)) == 0:
        stated = draw(st.lists(st.sampled_from(["node_count", "cards_per_node", "framework_version"]), unique=True))
        record = replace(record, imported=Imported("old.log", a.T0 + timedelta(seconds=50), tuple(stated)))
    return replace(record, result=draw(damaged(record))) if record.result else record


DESCRIBED = [stated_of({"division": "closed", "test_model": "ResNet50-v1.5"}), stated_of({"test_model": "bert"})]


@st.composite
def damaged(draw: st.DrawFn, record: RunRecord) -> CollectedResult:
    result = record.result
    assert result is not None
    info = {name: draw(MOMENTS) for name in draw(st.lists(st.sampled_from(PERIODS), max_size=4, unique=True))}
    for name in draw(st.lists(st.sampled_from(["average_power", "max_power", "energy_consumption"]), unique=True)):
        info[name] = draw(NUMBERS)  # type: ignore[assignment]  # a number among times
    cards = result.rank_results
    if draw(st.integers(0, 3)) == 0:
        cards = draw(st.sampled_from([(), cards[:-1], (*cards, RankResult(0, 0, 5.0))]))
    servers = tuple(ServerResult(server, 1.0, draw(st.one_of(st.none(), st.floats(0, 1)))) for server in range(2))
    return replace(
        result,
        info=replace(result.info, **info),  # type: ignore[arg-type]  # by name
        rank_results=cards,
        problems=draw(st.sampled_from([(), ("accuracy.json is missing",)])),
        server_results=draw(st.sampled_from([(), servers])),
    )


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=st.lists(results(), min_size=20, max_size=40))
def test_judging_stored_runs_gives_the_verdicts_of_their_recording(
    tmp_path_factory: pytest.TempPathFactory, records: list[RunRecord]
) -> None:
    records = [replace(one, run=replace(one.run, run_id=f"r{number}")) for number, one in enumerate(records)]
    file = tmp_path_factory.mktemp("judged") / "warehouse.duckdb"
    warehouse = Warehouse(file)
    warehouse.record_many(records)
    for ruleset_id in RULESETS:
        judge = Evaluator(get_shipped(ruleset_id))
        at_recording = {one.run.run_id: verdict_of(one, judge) for one in records}

        with warehouse.cursor() as cur:
            facts = list(stored_facts(cur, list(at_recording), judge.straggler_share))

        assert {one.run_id: judge.evaluate(one) for one in facts} == at_recording


def stored(warehouse: Warehouse) -> Sequence[object]:
    with warehouse.cursor() as cur:
        names = [name for (name,) in cur.execute("select column_name from (describe results)").fetchall()]
        assert names == list(RESULTS)
        return cur.execute("select * from results order by run_id").fetchall()


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(records=st.lists(results(), min_size=5, max_size=20))
def test_a_stored_check_is_canonical_json_whatever_was_evaluated_before(records: list[RunRecord]) -> None:
    """Texts of usual checks are kept; equal texts can have other templates."""
    judge = Evaluator(get_shipped())

    first = [verdict_of(record, judge) for record in records]
    _written.clear()

    assert [verdict_of(record, judge) for record in reversed(records)] == first[::-1]
    assert all(canonical_json(json.loads(one.checks)) == one.checks for one in first)


def verdict_of(record: RunRecord, judge: Evaluator) -> Evaluation:
    rows = rows_of(record, judge)
    run = dict(zip(RUNS, rows["runs"][0], strict=True))
    result = dict(zip(RESULTS, rows["results"][0], strict=True))
    return judge.evaluate(facts_of(run, result, rows["rank_results"], rows["server_results"], judge.straggler_share))


ALL = BoardQuery("cn-north-9", include_invalid=True)
IEEE = "ieee-2937-2022"


def test_every_verdict_says_which_ruleset_decided_it(warehouse: Warehouse) -> None:
    warehouse.record(a.record())

    row = warehouse.runs.find_row("run-1")

    assert row is not None
    assert (row.ruleset_id, row.division) == ("aisbench/1", "")
    with warehouse.cursor() as cur:
        assert cur.execute("select ruleset_sha256 from results").fetchall() == [(get_shipped().sha256,)]


@pytest.mark.every_store
def test_a_board_a_list_and_an_export_can_be_asked_for_under_another_ruleset(warehouse: Warehouse) -> None:
    warehouse.record_many(a.records([8000, 8100]))
    strict = replace(ALL, ruleset_id=IEEE)

    board, listed, usual = (
        warehouse.board.list_rows(strict),
        warehouse.runs.list_rows(strict),
        warehouse.board.list_rows(ALL),
    )

    assert [(row.runs, row.invalid) for row in usual.rows] == [(2, 0)]
    assert [(row.runs, row.invalid) for row in board.rows] == [(0, 2)]
    assert {row.validity for row in listed.rows} == {Validity.INVALID}
    assert {row.ruleset_id for row in listed.rows} == {IEEE}
    assert "V21" in {check.id for check in listed.rows[0].reasons}
    target = BytesIO()
    warehouse.export(Export(strict, a.T0), target)
    cells = next(csv.DictReader(target.getvalue().decode().splitlines()))
    assert (cells["ruleset_id"], cells["validity"]) == (IEEE, "invalid")


@pytest.mark.every_store
def test_a_validation_changes_nothing_until_its_verdicts_are_kept(warehouse: Warehouse) -> None:
    warehouse.record_many([*a.records([8000, 8100]), a.record("none", with_result=False, state=RunState.FAILED)])

    found = warehouse.validate(replace(ALL, ruleset_id=IEEE))

    assert {worth: count for worth, count in found.counts.items() if count} == {
        Validity.INVALID: 2,
        Validity.INCOMPLETE: 1,
    }
    assert found.by_rule["V21"] == (2, 0)
    assert {run.stored_ruleset_id for run in found.runs} == {"aisbench/1"}
    assert warehouse.runs.list_rows(ALL).rows[0].ruleset_id == "aisbench/1"
    assert warehouse.store_evaluations(found, actor=TESTER) == 3
    assert warehouse.runs.list_rows(replace(ALL, validity=Validity.INVALID)).total == 2
    assert {row.ruleset_id for row in warehouse.runs.list_rows(ALL).rows} == {IEEE}
    again = warehouse.validate(replace(ALL, ruleset_id=IEEE))
    assert all(run.is_stored for run in again.runs)
    assert warehouse.store_evaluations(again, actor=TESTER) == 0
    assert warehouse.check([a.records([8000, 8100])[0]]).damages == ()


def test_runs_can_be_listed_by_what_they_are_worth(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [a.record("good"), a.record("bad", accuracy=None), a.record("none", with_result=False, state=RunState.FAILED)]
    )

    found = {
        worth: [
            row.run_id for row in warehouse.runs.list_rows(replace(ALL, include_invalid=False, validity=worth)).rows
        ]
        for worth in (None, *Validity)
    }

    assert found == {
        None: ["good"],
        Validity.VALID: ["good"],
        Validity.CLAIMED: [],
        Validity.INVALID: ["bad"],
        Validity.INCOMPLETE: ["none"],
        Validity.SET_ASIDE: [],
    }


def test_a_slow_card_is_told_with_a_number_that_a_person_reads(warehouse: Warehouse) -> None:
    warehouse.record(a.record("run-1", throughputs=[1000.0] * 7 + [846.1428845064999]))

    run = warehouse.runs.find_row("run-1")

    assert run
    assert {check.id: check.evidence for check in run.checks}["V05"] == "server 0 rank 7: 846.1429"


def test_checks_are_stored_as_canonical_json_whatever_their_texts_hold(warehouse: Warehouse) -> None:
    odd = 'a "quoted" \\ text,\n\t\x01 快'
    facts = replace(a.FACTS, accuracy_target=0.7, accuracy_target_source=odd)
    slow, failed = a.record("slow", throughputs=[1000.0] * 7 + [500.0]), a.record("failed", with_result=False)
    warehouse.record_many([a.record("good", facts=facts), slow, failed])

    with warehouse.cursor() as cur:
        texts = [text for (text,) in cur.execute("select checks from results").fetchall()]

    assert len(texts) == 3
    assert any(json.dumps(odd, ensure_ascii=False) in text for text in texts)
    assert [canonical_json(json.loads(text)) for text in texts] == texts
