"""What fields of answers and parameters mean, and in which unit: one text for each name, wherever it appears.

Fields of runs and rows have the texts of the catalogue of columns; what a class says of its own field comes first.
"""

from collections.abc import Mapping
from typing import Any

from aisbench_core.model.columns import COUNT, FRACTION, Column, by_field
from aisbench_core.model.columns.statistics import Statistic, by_statistic

# Schemas whose fields are those of the catalogue.
OF_RUNS = ("BoardRow", "Run", "RunRow", "Trend", "TrendRow")
# Fields that mean in every schema what the catalogue says.
SHARED = ("cards_per_node", "created_by", "currency", "node_count", "run_id")

MEANINGS: Mapping[str, str] = {
    "adjusted_p": "The p-value, adjusted over all rows or groups.",
    "amount": "Sum in `currency`; null without a known price.",
    "at": "Time in UTC.",
    "attempts": "How many there were so far.",
    "auto_stop_hours": "Hours of run time after which the platform ends the job.",
    "baseline": "What it is compared with.",
    "baseline_run_ids": "The runs that it is compared with.",
    "began": "When runs began that something changed `since`, in UTC, by their ids.",
    "best": "The highest value, in `throughput_unit`.",
    "budget": "Node hours in total; null: no limit.",
    "candidate_run_ids": "The newest runs.",
    "cards": "Cards of a node.",
    "cell": "Number of the cell in the order of launching, from 1.",
    "cells": "Number of cells: runs that the plan asks for.",
    "change": "mean(candidate) / mean(baseline) - 1, as a fraction: -0.03 is 3 % less.",
    "ci_high": "Upper end of the 95 % interval, in the unit of the mean.",
    "ci_low": "Lower end of the 95 % interval, in the unit of the mean.",
    "completed": "How many of these runs were completed.",
    "cost": "In `currency`; null without a price.",
    "count": "How many there are.",
    "created_at": "Time in UTC.",
    "detail": "What happened last, one sentence.",
    "done": "How much is done, in `unit`.",
    "ended": "Number of cells that have ended.",
    "expected_cost": "What the launch expected it to cost, in its currency.",
    "recent": "Throughputs of the newest valid runs, the oldest first.",
    "region_ahead_s": "How far the region's clock was ahead of the ledger's at submission, in s; null if not known.",
    "expires_at": "Time in UTC.",
    "faulty_nodes": "Number of nodes.",
    "free_nodes": "Number of nodes.",
    "high": "The highest value, included.",
    "highest": "In `throughput_unit`.",
    "hours_per_run": "Hours that each run is expected to take.",
    "incomplete": "Number of runs without a complete result.",
    "invalid": "Number of runs whose result is not valid.",
    "items": "The items of this page.",
    "limit": "The most that is allowed.",
    "line": "Number of the line, from 1.",
    "lost": "Number of cells that ended without a valid result.",
    "low": "The lowest value, included.",
    "lowest": "In `throughput_unit`.",
    "max_nodes": "The most nodes of one job.",
    "mean": "Arithmetic mean, in `unit` or `throughput_unit`.",
    "median": "Median of the valid values, in `unit`.",
    "missed": "Valid runs whose accuracy is below their target.",
    "name": "Its name.",
    "next": "`cursor` of the next page; null after the last.",
    "next_step_at": "When the follower looks at it again, in UTC.",
    "node": "Number of the node, from 0.",
    "node_counts": "A row for each.",
    "node_hours": "Hours times nodes.",
    "number": "Grows with each.",
    "other_builds": "Number of runs of another build of the same version.",
    "other_systems": "Number of runs of another accelerator, or of other data.",
    "p_value": "Two-sided, of a t-test: pooled, or Welch's where the smaller side varies more.",
    "parallel": "The most active jobs of series in the pool.",
    "parameters": "Hyperparameters by name.",
    "position": "Place in the queue, from 1.",
    "price": "Of a node hour, in `currency`.",
    "price_per_node_hour": "In `currency`; null without a price.",
    "priority": "Of a job in a dedicated pool, from 1 to 3.",
    "promised": "Node hours that active runs are expected to take beyond `used`.",
    "rank": "Number of the card, from 0.",
    "rank_from": "Best rank that the 95 % intervals allow, from 1; with one run (`runs`) it is unconfirmed.",
    "rank_to": "Worst rank that the 95 % intervals allow.",
    "ratio": "To the first run.",
    "reached": "Valid runs whose accuracy reached the target of their workload.",
    "repeat": "Number of the repeat, from 1.",
    "repeats": "Runs of each row.",
    "retries": "How often the platform restarts the job.",
    "runs": "Number of runs.",
    "runs_each": "Runs on both sides that would detect `change`; null: too many.",
    "seed": "Seed of the sampler.",
    "series_id": "Id of the series.",
    "server": "Number of the server, from 0.",
    "space": "A range, or a list of values, of each hyperparameter.",
    "target": "Accuracy to reach, as a fraction.",
    "tests": "How many comparisons the p-values are adjusted for.",
    "throughput": "In `unit` or `throughput_unit`; null unless it was measured.",
    "timeless": "Number of runs whose time is unknown.",
    "to_come": "Node hours that cells not launched yet are expected to take.",
    "total": "How many there are, on all pages.",
    "total_nodes": "Number of nodes.",
    "trials": "Runs of the search.",
    "unit": "Unit of the values beside it.",
    "unknown": "Number of runs for which something that affects speed is unknown.",
    "updated_at": "Time in UTC.",
    "used": "How much is used.",
    "valid": "Number of valid ones.",
    "value": "In the unit beside it.",
    "values": "One for each run, or each value of a hyperparameter.",
    "version": "Version of the framework, or of what the name says.",
    "visible": "The smallest change that the runs detect, as a fraction.",
    "waited_s": "Seconds since it was submitted.",
    "wall_hours": "Hours with `parallel` jobs always active.",
    "ServerResult.accuracy": "As a fraction.",
    "Cost.total": "In `currency`.",
    "MetricValue.difference": "To the first run, in the metric's unit.",
    "NodeHours.used": "Node hours that the runs have used.",
    "Progress.total": "How much there is to do, in `unit`; null if unknown.",
    "Quota.used": "Jobs, or what the resource counts, that there are.",
    "CurvePoint.step": "Step of the training.",
    "CurvePoint.time": "Seconds since 1970.",
    "CurvePoint.value": "In the unit of the tag.",
    "Run.attempts": "How often the step that is due was tried.",
    "Run.version": "Grows with each change of the run.",
    "TrainingCurve.count": "Finite values of the curve; `points` are all of them, or the extremes of each stretch.",
    "TrainingCurve.highest": "Of all finite values; null without any.",
    "TrainingCurve.lowest": "Of all finite values; null without any.",
    "TrainingCurve.not_finite": "NaN and infinite values, which are no points.",
    "TrainingPoint.cards": "Cards whose throughput it is.",
    "TrainingPoint.epoch": "The epoch that is trained, from 1.",
    "TrainingPoint.epochs": "Epochs of the whole training.",
    "TrainingPoint.loss": "As the log says it.",
    "TrainingPoint.share": "What is done, as a fraction.",
    "TrainingPoint.step": "Steps that are done.",
    "TrainingPoint.step_s": "Seconds of a step.",
    "TrainingPoint.steps": "Steps of the whole training.",
    "TrainingPoint.throughput": "Of the whole job, in the workload's unit.",
}

# Parameters of queries.
FILTERS: Mapping[str, str] = {
    "ascending": "The least value first.",
    "descending": "The greatest value first.",
    "flavor": "Only these instance types.",
    "flavors": "Only these instance types.",
    "framework_version": "Only these versions of the framework.",
    "framework_versions": "Only these versions of the framework.",
    "include_invalid": "Also those without a valid result.",
    "model": "Only these models.",
    "models": "Only these models.",
    "node_counts": "Only these numbers of nodes.",
    "nodes": "Only these numbers of nodes.",
    "offset": "Rows to skip.",
    "origin": "Only launched, or only imported ones.",
    "synthetic_data": "Only runs on synthetic data, or only others.",
    "text": "Searched in ids, names and people.",
    "valid_only": "Only runs with a valid result.",
    "validity": "Only runs of this validity.",
    "workload": "Only these workloads.",
    "workloads": "Only these workloads.",
}

# Parts of paths, and headers.
ADDRESSED: Mapping[str, str] = {
    "Idempotency-Key": "A random value for each launch, and the same one when it is tried again.",
    "If-Range": "ETag of the file of which a part is there already; of another one the whole is answered.",
    "Range": "One range of bytes, such as bytes=1000-.",
    "command_id": "Id of the command.",
    "file": "Name of the file, as the list has it.",
    "name": "Name of the schedule: lower-case letters, digits, _ and -, at most 40.",
    "node": "Number of the node, from 0.",
    "run_id": "Id of the run, or a unique prefix of it; of imported runs the whole id.",
    "series_id": "Id of the series, or a unique prefix of it.",
}


def describe_schemas(schemas: Mapping[str, Any]) -> None:
    """Add to the fields of schemas, by name, what they mean and their units, where their classes do not say it."""
    for schema, whole in schemas.items():
        for name, field in whole.get("properties", {}).items():
            if "description" not in field and (text := meaning_of(name, schema)):
                field["description"] = text


def meaning_of(name: str, schema: str) -> str:
    """What a field means; empty if nothing more is to be said than its name says."""
    column = by_field().get(name) if schema in OF_RUNS or name in SHARED else None
    if own := MEANINGS.get(f"{schema}.{name}"):
        return own
    if column:
        return _write_sentence(column)
    return MEANINGS.get(name) or (_write_sentence(by_statistic()[name]) if name in by_statistic() else "")


def _write_sentence(declared: Column | Statistic) -> str:
    unit = {"": "", COUNT: "", FRACTION: ", as a fraction"}.get(declared.unit, f", in {declared.unit}")
    return f"{declared.meaning[:1].upper()}{declared.meaning[1:]}{unit}."
