"""Histories and verdicts of trends by a named metric of their runs in place of the throughput, never of two units."""

from collections.abc import Sequence
from dataclasses import replace

from duckdb import DuckDBPyConnection

from aisbench_core.model import Better
from aisbench_core.warehouse.answers.history import (
    MAX_TRENDS,
    RUNS_OF_TREND,
    TrendVerdicts,
    build_trend_parameters,
    fetch_history,
    fetch_regressions,
    fetch_trends,
)
from aisbench_core.warehouse.measures.regression import Tracked
from aisbench_core.warehouse.records.baselines import by_trend
from aisbench_core.warehouse.values.histories import History, Trend, TrendRow, VersionField
from aisbench_core.warehouse.values.runs import THROUGHPUT, BoardQuery
from aisbench_core.warehouse.values.trend_verdicts import Regressions

_DIRECTIONS = {Better.HIGHER: True, Better.LOWER: False}


def list_named(cur: DuckDBPyConnection, trend: Trend) -> tuple[str, ...]:
    """The named metrics of a trend's runs, each with its unit."""
    cur.execute(
        f"""select distinct name, unit from run_metrics where run_id in (select run_id from {RUNS_OF_TREND})
        and name <> $throughput order by name, unit""",
        build_trend_parameters(trend) | {"throughput": THROUGHPUT},
    )
    return tuple(f"{name}:{unit}" for name, unit in cur.fetchall())


def fetch_named_history(
    cur: DuckDBPyConnection,
    row: TrendRow,
    metric: str,
    by: VersionField | None,
    names: Sequence[str],
    *,
    include_invalid: bool,
) -> History:
    """The history of a trend of throughputs by a metric that the cursor shows in their place."""
    trend = replace(row.group, throughput_unit=metric.partition(":")[2])
    query = BoardQuery(trend.region, rehearsal=trend.rehearsal, fingerprint=trend.fingerprint, limit=MAX_TRENDS)
    found = next((each for each in fetch_trends(cur, query).rows if each.group == trend), None)
    shown = replace(found or replace(row, group=trend, runs=0, valid=0), baseline=row.baseline)
    named = Tracked(metric, trend.throughput_unit, _find_direction(cur, trend))
    return fetch_history(cur, shown, by, names, include_invalid=include_invalid, named=named)


def fetch_named_regressions(
    cur: DuckDBPyConnection, query: BoardQuery, by: VersionField | None, names: Sequence[str], stored: TrendVerdicts
) -> Regressions:
    """The verdicts on the trends of a metric that the cursor shows in place of throughputs."""
    # A baseline is marked for the trend of throughputs.
    marked = {replace(baseline.group, throughput_unit=""): baseline for baseline in by_trend(cur).values()}

    def track(row: TrendRow) -> tuple[TrendRow, Tracked]:
        unit = row.group.throughput_unit
        baseline = marked.get(replace(row.group, throughput_unit=""))
        return replace(row, baseline=baseline), Tracked(query.metric, unit, _find_direction(cur, row.group))

    return fetch_regressions(cur, query, by, names, stored, track)


def _find_direction(cur: DuckDBPyConnection, trend: Trend) -> bool | None:
    """Whether higher values are better; None where the runs say neither, or differ."""
    cur.execute(
        f"select distinct better from named where run_id in (select run_id from {RUNS_OF_TREND})",
        build_trend_parameters(trend),
    )
    found = cur.fetchall()
    return _DIRECTIONS.get(Better(found[0][0])) if len(found) == 1 else None
