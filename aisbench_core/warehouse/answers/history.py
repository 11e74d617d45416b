"""Runs over time: the trends, the history of one, and the verdicts on the newest runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Hint, Message
from aisbench_core.model import Mode, Origin
from aisbench_core.model.columns import MISSED
from aisbench_core.warehouse.measures.changes import find_boundaries, metric_histories
from aisbench_core.warehouse.measures.outcomes import SEVERITY, sum_up, with_outcomes
from aisbench_core.warehouse.measures.regression import (
    TRACKED,
    Tracked,
    field_of,
    newest_throughputs,
    regression_verdict,
)
from aisbench_core.warehouse.measures.sorts import HISTORY_SORTS
from aisbench_core.warehouse.queries.filters import KIND, Parameters, build_order_sql, build_parameters, statistics_of
from aisbench_core.warehouse.queries.group_statistics import AT, REASON, build_current_sql
from aisbench_core.warehouse.queries.search import rows_at
from aisbench_core.warehouse.records import baselines
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.values.boards import mixed_or_unknown
from aisbench_core.warehouse.values.histories import (
    NO_TIME,
    OF_SYSTEM,
    TARGET_MISSED,
    Baseline,
    BaselineReason,
    History,
    HistoryPage,
    HistoryRun,
    RegressionVerdict,
    Trend,
    TrendPage,
    TrendRow,
    VersionField,
)
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow, Validity
from aisbench_core.warehouse.values.trend_verdicts import Regressions, TrendVerdict

TrendState = tuple[Any, ...]
TrendVerdicts = dict[Trend, tuple[TrendState, TrendVerdict]]
Track = Callable[[TrendRow], tuple[TrendRow, Tracked | None]]

# Deeper pages are cut from all runs of the trend: passing the row ids of the runs above them would take longer.
MAX_ROW_IDS = 5000

# Runs of a history: the newest, of those in the baseline too.
MAX_RUNS = 500

MAX_TRENDS = 1000  # of one benchmark configuration, on all hardware and sizes

_KEYS = tuple(field.name for field in fields(Trend))

_TRENDS = f"""
    select {", ".join(_KEYS)},
        max_by(newest_title, newest_at) as title, any_value(model), any_value(workload), any_value(dataset),
        any_value(throughput_definition), any_value(mode), sum(recorded)::BIGINT, sum(valid)::BIGINT,
        max(newest_at) as latest_at,
        max_by(newest_run_id, struct_pack(moment := newest_at, id := newest_run_id)) as latest_run_id,
        count(*) over () as total
    from {{statistics}}
    group by {", ".join(_KEYS)}
    order by latest_at desc, latest_run_id limit $limit offset $offset
"""

_STATES = f"""
    select {", ".join(_KEYS)}, bit_xor(records), sum(recorded)::BIGINT, sum(valid)::BIGINT, sum(invalid)::BIGINT,
        sum(set_aside)::BIGINT,
        list([ruleset_ids, mean::VARCHAR, sd::VARCHAR] order by group_id)
    from {{statistics}} join (
        select group_id, bit_xor(hash(run_id, record_sha256, set_aside)) as records
        from runs where {KIND} group by group_id) using (group_id)
    group by {", ".join(_KEYS)}
"""

_METRICS = {
    "throughput": "throughput_cluster",
    "accuracy": "accuracy_measured",
    "rank_cv": "round(rank_cv, 9)",  # equal cards differ by 1e-17, which is no spread that could double
}

_OF_TREND = " and ".join(f"{name} = ${name}" for name in _KEYS)

RUNS_OF_TREND = f"runs where group_id in (select group_id from group_statistics where {_OF_TREND})"

# Sorting needs two columns; all others are read of the runs that are returned.
_NEWEST = f"select rowid, {AT} as moment from {RUNS_OF_TREND} order by moment desc limit $most"

# COUNTED as a condition on both tables: with one on results alone the engine builds the join on all results, which
# takes 400 MB for a million runs.
_COUNTS = "validity = case when origin = 'launched' or validity = 'valid' then 'valid' else 'claimed' end"

_PLAIN = ("run_id", "created_by", "framework_version", "code_sha256", "ruleset_id")

_RUNS = f"""
    select {", ".join(_PLAIN)}, {AT} as moment, started_at < created_at - interval 1 minute as doubtful,
        coalesce(created_at >= imported_at, false) as timeless, image as engine_version, validity, not_known,
        {MISSED} as missed,
        {", ".join(OF_SYSTEM)}, {REASON} as reason,
        {", ".join(f"{_METRICS.get(metric.name, metric.name)} as {metric.name}" for metric in TRACKED)}
    from {{runs}} join results using (run_id) where $include_invalid or {_COUNTS}
"""

_HISTORY = f"""{_RUNS}
    order by
        list_has_any($names::VARCHAR[], [run_id, framework_version, image, code_sha256]) desc,
        moment desc, run_id desc
    limit $limit
"""

_FROM_ALL = f"(from {RUNS_OF_TREND}) as runs"

# The runs of one trend that a history holds: those of the baseline first, then the newest.
HISTORY = _HISTORY.format(runs=_FROM_ALL)

_PAGE = f"""
    select *, count(*) over () as total from ({_RUNS})
    where $text = '' or contains(lower(concat_ws(
        ' ', run_id, created_by, framework_version, engine_version, code_sha256)), lower($text))
    order by {{order}}, moment desc, run_id desc limit $limit offset $offset
"""


def fetch_trends(cur: DuckDBPyConnection, query: BoardQuery) -> TrendPage:
    """One page of trends, the latest first. Framework versions of the query are ignored: histories span them."""
    filters = build_parameters(cur, replace(query, framework_versions=()))
    statement = _TRENDS.format(statistics=statistics_of(cur, query))
    rows = cur.execute(statement, filters | {"limit": query.limit, "offset": query.offset}).fetchall()
    marked = baselines.by_trend(cur)
    total = rows[0][-1] if rows else 0
    return TrendPage(tuple(_trend_row(row, marked) for row in rows), total, rehearsal=bool(filters["rehearsal"]))


def fetch_history(
    cur: DuckDBPyConnection,
    row: TrendRow,
    by: VersionField | None = None,
    names: Sequence[str] = (),
    *,
    include_invalid: bool = False,
    named: Tracked | None = None,
) -> History:
    """One trend: runs, versions, changes, and the regression verdict on the newest runs.

    `by`: what a version is. `names`: a baseline (versions or run ids) instead of the marked one. `named`: the metric
    that the cursor shows in place of throughputs."""
    evaluated = _evaluate_trend(cur, row, by, names, include_invalid=include_invalid, named=named)
    runs, doubts, regression = evaluated
    return History(
        row=row,
        field=regression.field,
        runs=runs,
        older=max(0, (row.runs if include_invalid else row.valid) - len(runs)),
        clock_doubts=doubts,
        boundaries=find_boundaries(runs),
        metrics=metric_histories(runs, row.group.throughput_unit, regression.field, (named,) if named else TRACKED),
        verdict=with_outcomes([regression])[0],
    )


def find_verdict(cur: DuckDBPyConnection, run: RunRow) -> RegressionVerdict | None:
    """The verdict on the trend that a run is in; None if the trend has no recorded runs any more."""
    query = BoardQuery(run.region, rehearsal=run.rehearsal, fingerprint=run.fingerprint, limit=MAX_TRENDS)
    row = next((row for row in fetch_trends(cur, query).rows if row.group == Trend.of(run)), None)
    return with_outcomes([_evaluate_trend(cur, row, None, (), include_invalid=False)[2]])[0] if row else None


def fetch_runs(cur: DuckDBPyConnection, query: BoardQuery, trend: Trend) -> HistoryPage:
    """One page of a trend's runs: of the query only text, validity, sort (one of HISTORY_SORTS) and page count.

    The cursor must see one moment, because row ids are read first."""
    page = _PAGE.format(order=build_order_sql(query, HISTORY_SORTS), runs="{runs}")
    values = {
        "text": query.text, "include_invalid": query.include_invalid, "offset": query.offset, "limit": query.limit,
    }  # fmt: skip
    end = query.offset + query.limit
    if query.sort == "moment" and query.descending and not query.text and end <= MAX_ROW_IDS:
        rows = _of_newest(cur, page, trend, values, end)
        return HistoryPage(tuple(map(_to_run, rows)), _count_runs(cur, query, trend))
    rows = _of_all(cur, page, trend, values)
    if not rows and query.offset:  # a page behind the last one still has a total
        return HistoryPage((), fetch_runs(cur, replace(query, offset=0, limit=1), trend).total)
    return HistoryPage(tuple(map(_to_run, rows)), rows[0]["total"] if rows else 0)


def fetch_regressions(
    cur: DuckDBPyConnection,
    query: BoardQuery,
    by: VersionField | None,
    names: Sequence[str],
    stored: TrendVerdicts,
    track: Track | None = None,
) -> Regressions:
    """The verdict on each trend of the query; with `names` (versions or run ids), on each that has one of them.

    `track`: gives each trend of a metric that the cursor shows its baseline, and says what is tested. `stored` are
    verdicts of earlier calls, which are used again for trends whose runs are the same; new ones are added.

    Imported runs decide the answer's outcome only where nothing was launched. Raises RunNotFound when no trend has
    any of the names."""
    page = fetch_trends(cur, replace(query, limit=2**31 - 1, offset=0))  # a regression may be in any trend
    states = _fetch_states(cur, query.region, rehearsal=page.rehearsal)
    tracked = [track(row) if track else (row, None) for row in page.rows]
    rows = [_trend_verdict(cur, row, by, names, states.get(row.group, ()), stored, named) for row, named in tracked]
    if names:
        rows = [row for row in rows if row.verdict.baseline_run_ids]
    if names and not rows:
        region, named = query.region, ", ".join(names)
        raise RunNotFound(
            Message("no group of {region} has a valid run or a version named {names}", region=region, names=named)
        )
    decided = with_outcomes([row.verdict for row in rows])
    rows = [replace(row, verdict=regression) for row, regression in zip(rows, decided, strict=True)]
    rows.sort(key=lambda row: SEVERITY.index(row.verdict.outcome))
    launched = [row for row in rows if row.row.group.origin is Origin.LAUNCHED]
    outcome = sum_up(row.verdict.outcome for row in launched or rows)
    return Regressions(tuple(rows), outcome, decided[0].tests if decided else 0, page.total, page.rehearsal)


def _trend_verdict(
    cur: DuckDBPyConnection,
    row: TrendRow,
    by: VersionField | None,
    names: Sequence[str],
    state: TrendState,
    stored: TrendVerdicts,
    named: Tracked | None,
) -> TrendVerdict:
    # A verdict takes 13 ms, and most trends are the same as at the call before.
    key = (row.baseline, by, tuple(names), state)
    earlier = stored.get(row.group)
    if earlier and earlier[0] == key:
        return replace(earlier[1], row=row)
    # Only the verdict is returned: the runs of all trends of a region would not fit into memory.
    runs, _, regression = _evaluate_trend(cur, row, by, names, include_invalid=False, named=named)
    answer = TrendVerdict(
        row,
        regression,
        timeless=sum(run.is_timeless for run in runs),
        other_systems=sum(run.is_of_another_system for run in runs),
        unknown=sum(bool(run.not_known) for run in runs),
        missed=sum(run.has_missed for run in runs),
        recent=newest_throughputs(runs),
        began={run.run_id: run.at for run in runs if run.run_id in regression.first_ids},
    )
    if not names:
        stored[row.group] = (key, answer)
    return answer


def _fetch_states(cur: DuckDBPyConnection, region: str, *, rehearsal: bool) -> Mapping[Trend, TrendState]:
    """What changes with any run of a trend, and with the validity of any: hashes of records, and statistics."""
    statement = _STATES.format(statistics=build_current_sql(cur))
    rows = cur.execute(statement, {"region": region, "rehearsal": rehearsal}).fetchall()
    return {_to_trend(row): row[len(_KEYS) :] for row in rows}


def _evaluate_trend(
    cur: DuckDBPyConnection,
    row: TrendRow,
    by: VersionField | None,
    requested: Sequence[str],
    *,
    include_invalid: bool,
    named: Tracked | None = None,
) -> tuple[tuple[HistoryRun, ...], int, RegressionVerdict]:
    """The runs in time order, the number of doubtful clocks, and the verdict before outcomes are decided."""
    marked = None if requested else row.baseline
    names = tuple(requested) or (marked.names if marked else ())
    rule = BaselineReason.REQUESTED if requested else BaselineReason.MARKED
    runs, doubts = _fetch_trend_runs(cur, row.group, names, include_invalid)
    runs = tuple(run.with_only(named.name) for run in runs) if named else runs
    field = (marked and marked.field) or _choose_field(runs, by, names)
    counted = {name for run in runs if run.validity.counts for name in (run.run_id, run.version(field))}
    if marked and counted.isdisjoint(names):
        names = ()  # none of them counts any more
    return (
        runs,
        doubts,
        regression_verdict(runs, row.group.throughput_unit, field, names, rule, (named,) if named else TRACKED),
    )


def _choose_field(runs: Sequence[HistoryRun], by: VersionField | None, names: Sequence[str]) -> VersionField:
    """The field in which one of the names is a version; otherwise `by`, or the first one that differs."""
    named = (field for field in VersionField if any(run.version(field) in names for run in runs))
    return next(named, None) or field_of(runs, by)


def _fetch_trend_runs(
    cur: DuckDBPyConnection, trend: Trend, names: Sequence[str], include_invalid: bool
) -> tuple[tuple[HistoryRun, ...], int]:
    values = {"names": list(names), "include_invalid": include_invalid, "limit": MAX_RUNS}
    rows = _of_all(cur, _HISTORY, trend, values) if names else _of_newest(cur, _HISTORY, trend, values, MAX_RUNS)
    rows.sort(key=lambda row: (row["moment"], row["run_id"]))
    return _of_one_system([_to_run(row) for row in rows], rows), sum(bool(row["doubtful"]) for row in rows)


def _of_one_system(runs: Sequence[HistoryRun], rows: Sequence[Mapping[str, Any]]) -> tuple[HistoryRun, ...]:
    """The runs; those that differ in OF_SYSTEM from the newest run that knows its own do not count."""
    counted = [row for run, row in zip(runs, rows, strict=True) if run.values]
    newest = {name: next((row[name] for row in reversed(counted) if row[name]), "") for name in OF_SYSTEM}
    return tuple(_if_of(run, row, newest) for run, row in zip(runs, rows, strict=True))


def _if_of(run: HistoryRun, row: Mapping[str, Any], newest: Mapping[str, str]) -> HistoryRun:
    reason = next((reason for name, reason in OF_SYSTEM.items() if row[name] not in ("", newest[name])), "")
    if not run.values or not reason:
        return run
    return replace(run, values={}, left_out=dict.fromkeys((*run.values, *run.left_out), reason))


def _of_newest(
    cur: DuckDBPyConnection, statement: str, trend: Trend, values: Parameters, count: int
) -> list[dict[str, Any]]:
    """As _of_all, for a statement about the `count` newest runs: finds their row ids by few columns first."""
    # Some runs are not valid, so that a quarter more are read; where that is not enough, all are.
    most = count + count // 4 + 1
    newest = cur.execute(_NEWEST, build_trend_parameters(trend) | {"most": most}).fetchall()
    are_all = len(newest) < most
    # The last moment may be cut off between runs that began at once; which of those are newer, only their ids say.
    row_ids = [row_id for row_id, moment in newest if are_all or moment > newest[-1][1]]
    rows = _fetch_rows(cur.execute(statement.format(runs=rows_at("runs", "$row_ids")), values | {"row_ids": row_ids}))
    return rows if are_all or len(rows) == values["limit"] else _of_all(cur, statement, trend, values)


def _of_all(cur: DuckDBPyConnection, statement: str, trend: Trend, values: Parameters) -> list[dict[str, Any]]:
    return _fetch_rows(cur.execute(statement.format(runs=_FROM_ALL), build_trend_parameters(trend) | values))


def _count_runs(cur: DuckDBPyConnection, query: BoardQuery, trend: Trend) -> int:
    number = "recorded" if query.include_invalid else "valid"
    statement = f"select coalesce(sum({number}), 0)::BIGINT from {build_current_sql(cur)} where {_OF_TREND}"
    [(count,)] = cur.execute(statement, build_trend_parameters(trend)).fetchall()
    return int(count)


def build_trend_parameters(trend: Trend) -> dict[str, object]:
    return {name: getattr(trend, name) for name in _KEYS} | {"origin": trend.origin.value}


def _fetch_rows(cur: DuckDBPyConnection) -> list[dict[str, Any]]:
    columns = [column[0] for column in cur.description or ()]
    return [dict(zip(columns, values, strict=True)) for values in cur.fetchall()]


def _to_run(row: Mapping[str, Any]) -> HistoryRun:
    validity = Validity(row["validity"])
    reason = row["reason"] if not validity.counts else NO_TIME if row["timeless"] else ""
    uncounted = {metric.name: why for metric in TRACKED if (why := reason or _explain_uncounted(row[metric.name]))}
    numbers = {metric.name: float(row[metric.name]) for metric in TRACKED if metric.name not in uncounted}
    excluded = {name: why for name in numbers if (why := _not_compared(row, name))}
    return HistoryRun(
        **{name: row[name] for name in (*_PLAIN, "engine_version")},
        at=to_aware(row["moment"]),
        validity=validity,
        values={name: number for name, number in numbers.items() if name not in excluded},
        left_out=uncounted | excluded,
        not_known=row["not_known"] or "",
        not_compared={name: numbers[name] for name in excluded},
    )


def _not_compared(row: Mapping[str, Any], metric: str) -> Hint:
    """Why a number that counts is not compared with those of other runs: as on the leaderboard, which ranks it last or
    not at all."""
    return mixed_or_unknown(row["not_known"] or "") or (TARGET_MISSED if row["missed"] and metric != "accuracy" else "")


def _explain_uncounted(value: float | None) -> str:
    """Why a number does not count; empty when it does."""
    if value is None:
        return Message("not measured")
    return "" if math.isfinite(value) else Message("not a finite number")


def _to_trend(values: Sequence[Any]) -> Trend:
    key = dict(zip(_KEYS, values, strict=False))
    return Trend(**{**key, "origin": Origin(key["origin"])})


def _trend_row(values: Sequence[Any], marked: Mapping[str, Baseline]) -> TrendRow:
    trend = _to_trend(values)
    title, model, workload, dataset, definition, mode, runs, valid, latest_at, latest, _ = values[len(_KEYS) :]
    return TrendRow(
        trend, title, model, workload, dataset, definition, Mode(mode), runs, valid, to_aware(latest_at), latest,
        marked.get(trend.id),
    )  # fmt: skip
