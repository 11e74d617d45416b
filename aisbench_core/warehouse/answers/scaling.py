"""How throughput grows with nodes: the same question on the same flavor and software, on n nodes."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.errors import RunNotFound
from aisbench_core.messages import Message
from aisbench_core.model import Origin
from aisbench_core.model.columns import COUNTED
from aisbench_core.statistics.amdahl import SizeRuns, amdahl
from aisbench_core.statistics.student import critical
from aisbench_core.warehouse.answers.compared import MOST_DOTS, RunDot
from aisbench_core.warehouse.answers.filters import Parameters, parameters, standings_of
from aisbench_core.warehouse.answers.group_statistics import KEYS
from aisbench_core.warehouse.answers.scalings import (
    LeftOut,
    QuestionPage,
    QuestionRow,
    Scaling,
    ScalingPoint,
    ScalingQuery,
    ScalingQuestion,
)
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.records.runs import by_ids
from aisbench_core.warehouse.values import BoardQuery, RunRow

LINE = ", ".join(name for name in KEYS if name != "node_count")
"""What is equal along one curve: everything but the node count."""

POINTS = f"""
    select {LINE}, node_count, median(throughput_cluster) as throughput, count(*) as runs
    from runs join results using (run_id)
    where {COUNTED} and mode = 'cluster' and node_count is not null and cards_per_node is not null
    group by all
"""
"""T(n) of everything that can scale: the median of the valid runs. Single servers do not work together.

Imported runs, which claim what they say, scale among themselves only."""

BASES = f"""
    select {LINE}, min(node_count) as base_nodes, min_by(throughput, node_count) as base_throughput
    from ({POINTS}) group by all
"""
"""Where each curve begins: the smallest node count, and the throughput there."""

_KEY = ", ".join(field.name for field in fields(ScalingQuestion))

_OWN = (
    "framework_version", "flavor", "cards_per_node", "pool_id", "accelerator", "image", "code_sha256", "dataset_sha256",
)  # fmt: skip
"""What tells a question's curves apart."""

_WHY = f"""case when not ({COUNTED}) then validity
    when node_count is null or cards_per_node is null then 'nodes not known' else '' end"""

_CURVES = f"""
    select {", ".join(_OWN)}, node_count, {_WHY} as why,
        count(*) as runs,
        median(throughput_cluster) as throughput,
        avg(throughput_cluster) as mean,
        stddev_samp(throughput_cluster) as sd,
        avg(ln(throughput_cluster)) as log_mean,
        coalesce(var_samp(ln(throughput_cluster)), 0) * (count(*) - 1) as log_squares,
        min_by(struct_pack(run_id := run_id, throughput := throughput_cluster), hash(run_id), {MOST_DOTS}) as dots
    from runs join results using (run_id)
    where group_id in (select group_id from standings where mode = 'cluster'
        and {" and ".join(f"{field.name} = ${field.name}" for field in fields(ScalingQuestion))}{{more}})
    group by all
    order by {", ".join(_OWN)}, node_count, why
"""

SCALING = _CURVES.format(more="")
"""The query that the Scaling page is made of: one question, by version, hardware and node count."""

_CURVE = _CURVES.format(more="".join(f" and {name} is not distinct from ${name}" for name in _OWN))

_QUESTIONS = f"""
    select {_KEY},
        max_by(newest_title, newest_at) as title, any_value(model) as model, any_value(workload) as workload,
        any_value(dataset) as dataset, sum(valid)::BIGINT as runs, count(distinct node_count) as node_counts,
        max(newest_at) as latest_at, count(*) over () as total
    from {{standings}}
    where mode = 'cluster' and valid > 0 and node_count is not null and cards_per_node is not null
    group by {_KEY}
    order by origin = 'launched' desc, node_counts desc, latest_at desc, fingerprint limit $limit offset $offset
"""


def questions(cur: DuckDBPyConnection, query: BoardQuery) -> QuestionPage:
    """One page of questions that have runs which count in cluster mode: of launched ones first, then by node counts."""
    chosen = parameters(cur, query)
    asked = _QUESTIONS.format(standings=standings_of(cur, query))
    found = cur.execute(asked, chosen | {"limit": query.limit, "offset": query.offset}).fetchall()
    rows = tuple(_question(values[:-1]) for values in found)
    return QuestionPage(rows, found[0][-1] if found else 0, rehearsal=bool(chosen["rehearsal"]))


def scaling(cur: DuckDBPyConnection, question: ScalingQuestion) -> tuple[Scaling, ...]:
    """Each curve of the question, those on most node counts first.

    A curve begins at the smallest node count that was measured; its speed-up and efficiency there are 1."""
    return _scalings(cur, SCALING, question, {})


def scaling_of(cur: DuckDBPyConnection, run_id: str) -> Scaling:
    """The curve that a run lies on. Raises RunNotFound."""
    for run in by_ids(cur, [run_id]):
        return curve(cur, run)
    raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))


def curve(cur: DuckDBPyConnection, run: RunRow) -> Scaling:
    """The curve of all runs that differ from this one in their node count only; no other runs are read."""
    found = _scalings(cur, _CURVE, ScalingQuestion.of(run), {name: getattr(run, name) for name in _OWN})
    return found[0] if found else Scaling.empty(ScalingQuery.of(run))


def _scalings(cur: DuckDBPyConnection, asked: str, question: ScalingQuestion, own: Parameters) -> tuple[Scaling, ...]:
    found = cur.execute(asked, asdict(question) | {"origin": question.origin.value} | own)
    columns = [column[0] for column in found.description or ()]
    curves: dict[ScalingQuery, list[dict[str, Any]]] = defaultdict(list)
    for values in found.fetchall():
        row = dict(zip(columns, values, strict=True))
        curves[_curve(question, row)].append(row)
    answers = [_scaling(query, rows, question.throughput_unit) for query, rows in curves.items()]
    answers.sort(key=lambda each: (-len(each.points), -sum(point.runs for point in each.points)))
    return tuple(answers)


def _question(values: Sequence[Any]) -> QuestionRow:
    size = len(fields(ScalingQuestion))
    title, model, workload, dataset, runs, node_counts, latest_at = values[size:]
    key = {field.name: value for field, value in zip(fields(ScalingQuestion), values[:size], strict=True)}
    question = ScalingQuestion(**{**key, "origin": Origin(key["origin"])})
    return QuestionRow(question, title, model, workload, dataset, runs, node_counts, aware(latest_at))


def _curve(question: ScalingQuestion, row: dict[str, Any]) -> ScalingQuery:
    asked = {
        name: getattr(question, name) for name in ("region", "fingerprint", "synthetic_data", "rehearsal", "origin")
    }
    return ScalingQuery(**asked, **{name: row[name] for name in _OWN})


def _scaling(query: ScalingQuery, rows: Sequence[dict[str, Any]], unit: str) -> Scaling:
    valid = [row for row in rows if not row["why"]]
    left_out = tuple(LeftOut(row["why"], row["node_count"], row["runs"]) for row in rows if row["why"])
    sizes = [SizeRuns(row["node_count"], row["runs"], row["log_mean"], row["log_squares"]) for row in valid]
    points = tuple(_point(row, valid[0]) for row in valid)
    base_nodes = points[0].node_count if points else None
    return Scaling(query, points, base_nodes, unit, amdahl(sizes), left_out)


def _point(row: dict[str, Any], base: dict[str, Any]) -> ScalingPoint:
    speed_up, ideal = row["throughput"] / base["throughput"], row["node_count"] / base["node_count"]
    runs, mean, sd = row["runs"], row["mean"], row["sd"]
    margin = critical(0.05, runs - 1) * sd / math.sqrt(runs) if runs > 1 else None
    return ScalingPoint(
        node_count=row["node_count"],
        runs=runs,
        throughput=row["throughput"],
        speed_up=speed_up,
        efficiency=speed_up / ideal,
        ideal=ideal,
        mean=mean,
        ci_low=None if margin is None else mean - margin,
        ci_high=None if margin is None else mean + margin,
        dots=tuple(RunDot(**dot) for dot in row["dots"]),
    )
