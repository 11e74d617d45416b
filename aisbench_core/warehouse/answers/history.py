"""Runs over time: which groups there are, and one group's runs with everything that can be said about them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.errors import RunNotFound
from aisbench_core.messages import Message
from aisbench_core.model import Mode, Origin
from aisbench_core.warehouse.answers import baselines
from aisbench_core.warehouse.answers.changes import boundaries, metric_histories
from aisbench_core.warehouse.answers.filters import Parameters, order, parameters, standings_of
from aisbench_core.warehouse.answers.group_statistics import AT, current
from aisbench_core.warehouse.answers.histories import (
    NO_TIME,
    OTHER_ACCELERATOR,
    OTHER_DATA,
    Baseline,
    BaselineReason,
    GroupJudgement,
    GroupPage,
    GroupRow,
    History,
    HistoryGroup,
    HistoryPage,
    HistoryRun,
    Judgement,
    Regressions,
    VersionField,
)
from aisbench_core.warehouse.answers.regression import GRAVEST, TRACKED, field_of, gravest, judgement, settled
from aisbench_core.warehouse.answers.search import told
from aisbench_core.warehouse.answers.sorts import HISTORY_SORTS
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.values import BoardQuery, Validity

MOST_PLACES = 5000
"""Of a page that lies deeper all runs are read, which takes less than to name the places of those above it."""

MOST_RUNS = 500
"""How many runs of a group are looked at: the newest ones, and of the baseline's the newest, too."""

_KEY = ", ".join(field.name for field in fields(HistoryGroup))

_GROUPS = f"""
    select {_KEY},
        max_by(newest_title, newest_at) as title, any_value(model) as model, any_value(workload) as workload,
        any_value(dataset) as dataset, any_value(throughput_definition) as throughput_definition,
        any_value(mode) as mode, sum(recorded)::BIGINT as runs, sum(valid)::BIGINT as valid,
        max(newest_at) as latest_at,
        max_by(newest_run_id, struct_pack(moment := newest_at, id := newest_run_id)) as latest_run_id,
        count(*) over () as groups
    from {{standings}}
    group by {_KEY}
    order by latest_at desc, latest_run_id limit $limit offset $offset
"""

_METRICS = {
    "throughput": "throughput_cluster",
    "accuracy": "accuracy_measured",
    "rank_cv": "round(rank_cv, 9)",  # equal cards differ by 1e-17, which is no spread that could double
}

_HAVE_KEY = " and ".join(f"{field.name} = ${field.name}" for field in fields(HistoryGroup))

_ALL = f"runs where group_id in (select group_id from standings where {_HAVE_KEY})"
"""A group's runs."""

_PLACES = f"select rowid, {AT} as moment from {_ALL} order by moment desc limit $most"

_COUNTS = "validity = case when origin = 'launched' or validity = 'valid' then 'valid' else 'claimed' end"
"""COUNTED, of both tables: with a condition on results alone the join is built on all of them (a million: 400 MB)."""
_RUNS = f"""
    select run_id, {AT} as moment, started_at < created_at - interval 1 minute as doubtful,
        coalesce(created_at >= imported_at, false) as timeless,
        created_by, framework_version, image as engine_version, code_sha256, validity, ruleset_id, accelerator,
        dataset_sha256,
        case when failed_checks = '' then state else failed_checks end as reason,
        {", ".join(f"{_METRICS.get(metric.name, metric.name)} as {metric.name}" for metric in TRACKED)}
    from {{runs}} join results using (run_id) where $include_invalid or {_COUNTS}
"""

_HISTORY = f"""{_RUNS}
    order by
        list_has_any($names::VARCHAR[], [run_id, framework_version, image, code_sha256]) desc,
        moment desc, run_id desc
    limit $limit
"""

_WHOLE = f"(from {_ALL}) as runs"

HISTORY = _HISTORY.format(runs=_WHOLE)
"""The query that history and verdicts are made of: one group's runs, those of the baseline first, then the newest."""

_PAGE = f"""
    select *, count(*) over () as total from ({_RUNS})
    where $text = '' or contains(lower(concat_ws(
        ' ', run_id, created_by, framework_version, engine_version, code_sha256)), lower($text))
    order by {{order}}, moment desc, run_id desc limit $limit offset $offset
"""


def groups(cur: DuckDBPyConnection, query: BoardQuery) -> GroupPage:
    """One page of groups, the latest first. A framework version in the query is not looked at: histories span them."""
    chosen = parameters(cur, replace(query, framework_versions=()))
    asked = _GROUPS.format(standings=standings_of(cur, query))
    found = cur.execute(asked, chosen | {"limit": query.limit, "offset": query.offset}).fetchall()
    marked = baselines.by_group(cur)
    rows = tuple(_group_row(values[:-1], marked) for values in found)
    return GroupPage(rows, found[0][-1] if found else 0, rehearsal=bool(chosen["rehearsal"]))


def history(
    cur: DuckDBPyConnection, row: GroupRow, by: VersionField | None, names: Sequence[str], *, include_invalid: bool
) -> History:
    """One group over time. `names` is the baseline asked for, as versions or run ids; else the marked one counts."""
    runs, doubts, judged = _judged(cur, row, by, names, include_invalid=include_invalid)
    return History(
        row=row,
        field=judged.field,
        runs=runs,
        older=max(0, (row.runs if include_invalid else row.valid) - len(runs)),
        clock_doubts=doubts,
        boundaries=boundaries(runs),
        metrics=metric_histories(runs, row.group.throughput_unit, judged.field),
        judgement=settled([judged])[0],
    )


def runs(cur: DuckDBPyConnection, query: BoardQuery, group: HistoryGroup) -> HistoryPage:
    """One page of a group's runs, by the query's text, worth, sort (one of HISTORY_SORTS) and page alone.

    The cursor sees one moment."""
    page = _PAGE.format(order=order(query, HISTORY_SORTS), runs="{runs}")
    asked = {"text": query.text, "include_invalid": query.include_invalid, "offset": query.offset, "limit": query.limit}
    wanted = query.offset + query.limit
    if query.sort == "moment" and query.descending and not query.text and wanted <= MOST_PLACES:
        rows = _newest(cur, page, group, asked, wanted)
        return HistoryPage(tuple(map(_run, rows)), _count(cur, query, group))
    rows = _whole(cur, page, group, asked)
    if not rows and query.offset:  # behind the last page
        return HistoryPage((), runs(cur, replace(query, offset=0, limit=1), group).total)
    return HistoryPage(tuple(map(_run, rows)), rows[0]["total"] if rows else 0)


def regressions(
    cur: DuckDBPyConnection, query: BoardQuery, by: VersionField | None, names: Sequence[str]
) -> Regressions:
    """The verdict on each group that the query chooses; with `names`, on each that has one of them.

    What imported runs claim decides the answer's outcome only where no launched group was judged. Of each group the
    runs are forgotten once it is judged. Raises RunNotFound when no group has any."""
    page = groups(cur, replace(query, limit=2**31 - 1, offset=0))  # a verdict that leaves groups out is none
    judged = [_judged_group(cur, row, by, names) for row in page.rows]
    wanted = [each for each in judged if each.judgement.baseline_run_ids or not names]
    if names and not wanted:
        at, named = query.region, ", ".join(names)
        said = Message("no group of {region} has a valid run or a version named {names}", region=at, names=named)
        raise RunNotFound(said)
    decided = settled([each.judgement for each in wanted])
    rows = [replace(each, judgement=found) for each, found in zip(wanted, decided, strict=True)]
    rows.sort(key=lambda each: GRAVEST.index(each.judgement.outcome))
    launched = [row for row in rows if row.row.group.origin is Origin.LAUNCHED]
    outcome = gravest(each.judgement.outcome for each in launched or rows)
    return Regressions(tuple(rows), outcome, decided[0].tests if decided else 0, page.total, page.rehearsal)


def _judged_group(
    cur: DuckDBPyConnection, row: GroupRow, by: VersionField | None, names: Sequence[str]
) -> GroupJudgement:
    runs, _, found = _judged(cur, row, by, names, include_invalid=False)
    timeless, apart = sum(run.is_timeless for run in runs), sum(run.is_of_another_system for run in runs)
    return GroupJudgement(row, found, timeless, apart)


def _judged(
    cur: DuckDBPyConnection, row: GroupRow, by: VersionField | None, asked: Sequence[str], *, include_invalid: bool
) -> tuple[tuple[HistoryRun, ...], int, Judgement]:
    """The runs in the order of time, how many of their clocks are in doubt, and the judgement, not yet settled."""
    mark = row.baseline
    names = tuple(asked) or (mark.names if mark else ())
    rule = BaselineReason.ASKED if asked else BaselineReason.MARKED
    runs, doubts = _runs(cur, row.group, names, include_invalid)
    field = _field(runs, by, names, mark if not asked else None)
    return runs, doubts, judgement(runs, row.group.throughput_unit, field, names, rule)


def _field(
    runs: Sequence[HistoryRun], by: VersionField | None, names: Sequence[str], mark: Baseline | None
) -> VersionField:
    """The field in which a name is a version; otherwise as asked, or as the runs differ."""
    if mark and mark.field:
        return mark.field
    named = [field for field in VersionField if any(run.version(field) in names for run in runs)]
    return named[0] if named else field_of(runs, by)


def _runs(
    cur: DuckDBPyConnection, group: HistoryGroup, names: Sequence[str], include_invalid: bool
) -> tuple[tuple[HistoryRun, ...], int]:
    asked = {"names": list(names), "include_invalid": include_invalid, "limit": MOST_RUNS}
    found = _whole(cur, _HISTORY, group, asked) if names else _newest(cur, _HISTORY, group, asked, MOST_RUNS)
    rows = sorted(found, key=_in_time)
    return _of_one_system([_run(row) for row in rows]), sum(bool(row["doubtful"]) for row in rows)


def _of_one_system(runs: Sequence[HistoryRun]) -> tuple[HistoryRun, ...]:
    """The runs, of which none counts that was made on another accelerator or other data than the newest that tells."""
    counted = [run for run in reversed(runs) if run.values]
    accelerator = next((run.accelerator for run in counted if run.accelerator), "")
    data = next((run.dataset_sha256 for run in counted if run.dataset_sha256), "")
    return tuple(_if_of(run, accelerator, data) for run in runs)


def _if_of(run: HistoryRun, accelerator: str, data: str) -> HistoryRun:
    others = OTHER_ACCELERATOR if run.accelerator not in ("", accelerator) else OTHER_DATA
    if not run.values or (run.accelerator in ("", accelerator) and run.dataset_sha256 in ("", data)):
        return run
    return replace(run, values={}, left_out=dict.fromkeys((*run.values, *run.left_out), others))


def _newest(
    cur: DuckDBPyConnection, statement: str, group: HistoryGroup, asked: Parameters, wanted: int
) -> list[dict[str, Any]]:
    """As _whole, for a statement about the `wanted` newest runs: where those lie is found by few columns.

    Some may not be valid, so that a few more are looked at; where these do not do, all are."""
    most = wanted + wanted // 4 + 1
    found = cur.execute(_PLACES, _key(group) | {"most": most}).fetchall()
    are_all = len(found) < most
    # Of runs that began at once all are there or none: which of them are newer, their ids say.
    places = [place for place, moment in found if are_all or moment > found[-1][1]]
    rows = _rows(cur.execute(statement.format(runs=told("runs", "$places")), asked | {"places": places}))
    return rows if are_all or len(rows) == asked["limit"] else _whole(cur, statement, group, asked)


def _whole(cur: DuckDBPyConnection, statement: str, group: HistoryGroup, asked: Parameters) -> list[dict[str, Any]]:
    return _rows(cur.execute(statement.format(runs=_WHOLE), _key(group) | asked))


def _count(cur: DuckDBPyConnection, query: BoardQuery, group: HistoryGroup) -> int:
    """How many runs of the group there are, by what is kept of it."""
    counted = "recorded" if query.include_invalid else "valid"
    asked = f"select coalesce(sum({counted}), 0)::BIGINT from {current(cur)} where {_HAVE_KEY}"
    [(count,)] = cur.execute(asked, _key(group)).fetchall()
    return int(count)


def _key(group: HistoryGroup) -> dict[str, object]:
    return {field.name: getattr(group, field.name) for field in fields(group)} | {"origin": group.origin.value}


def _rows(cur: DuckDBPyConnection) -> list[dict[str, Any]]:
    columns = [column[0] for column in cur.description or ()]
    return [dict(zip(columns, values, strict=True)) for values in cur.fetchall()]


def _in_time(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["moment"], row["run_id"]


def _run(row: Mapping[str, Any]) -> HistoryRun:
    validity = Validity(row["validity"])
    why = row["reason"] if not validity.counts else NO_TIME if row["timeless"] else ""
    reasons = {metric.name: _left_out(row[metric.name], why) for metric in TRACKED}
    return HistoryRun(
        run_id=row["run_id"],
        at=aware(row["moment"]),
        created_by=row["created_by"],
        framework_version=row["framework_version"],
        engine_version=row["engine_version"],
        code_sha256=row["code_sha256"],
        validity=validity,
        values={name: float(row[name]) for name, reason in reasons.items() if not reason},
        left_out={name: reason for name, reason in reasons.items() if reason},
        ruleset_id=row["ruleset_id"],
        accelerator=row["accelerator"],
        dataset_sha256=row["dataset_sha256"],
    )


def _left_out(value: float | None, why: str) -> str:
    """Why a number does not count; empty when it does. `why` holds for all numbers of the run."""
    if why or value is None:
        return why or "not measured"
    return "" if math.isfinite(value) else "not a finite number"


def _group_row(values: Sequence[Any], marked: Mapping[str, Baseline]) -> GroupRow:
    size = len(fields(HistoryGroup))
    key = dict(zip((field.name for field in fields(HistoryGroup)), values[:size], strict=True))
    group = HistoryGroup(**{**key, "origin": Origin(key["origin"])})
    title, model, workload, dataset, definition, mode, runs, valid, latest_at, latest = values[size:]
    return GroupRow(
        group, title, model, workload, dataset, definition, Mode(mode), runs, valid, aware(latest_at), latest,
        marked.get(group.id),
    )  # fmt: skip
