"""Runs side by side: what differs first, then each metric against the baseline, and whether that may be compared."""

import math
from collections.abc import Sequence
from pathlib import PurePath

from duckdb import DuckDBPyConnection

from aisbench_core.errors import Problem, RunNotFound, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import Mode, Origin, columns
from aisbench_core.model.columns import Compared, compared
from aisbench_core.warehouse.answers.compared import (
    Comparability,
    ComparedBy,
    Comparison,
    FieldValues,
    MetricComparison,
    MetricValue,
    RunVerdict,
)
from aisbench_core.warehouse.answers.peers import medians, peers
from aisbench_core.warehouse.answers.servers import servers
from aisbench_core.warehouse.records.runs import Asked, asked_for, by_ids, rank_results
from aisbench_core.warehouse.values import RunRow

FEWEST, MOST = 2, 8

_DECIDING = tuple(column.field for column in compared(Compared.DECIDES))
"""A ratio between runs that differ in one of these says nothing; parameters that decide speed come on top."""

_DESCRIBED = tuple(column.field for column in compared(Compared.DESCRIBES))

_MAY_BE_UNKNOWN = ("parameters", "mode", "node_count", "cards_per_node")
"""Fields of a spec that decide a comparison, and that an imported result may not tell."""

_ASKED = ("engine_name", "boot_file", "image_url", "command", "pool_id", "volumes", "priority", "retries", "api")
"""Fields of the spec that can change a result; names, descriptions and places of outputs cannot."""


Speed = dict[str, object] | None
"""The parameters that decide a run's speed; None: not known."""


METRICS = sorted(
    compared(Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER), key=lambda column: column.unit != columns.UNIT
)
"""The numbers of a run that can be put beside another's, throughputs first."""

_DECIDES = {"": "throughput", "node": "per_node", "card": "per_card"}
_SEVERITY = (Comparability.COMPARABLE, Comparability.NORMALISED, Comparability.NOT_COMPARABLE)


def compare(cur: DuckDBPyConnection, run_ids: Sequence[str], by: ComparedBy = ComparedBy.RUNS) -> Comparison:
    """The runs, or their rows, in the order given, each against the first. Raises SpecError and RunNotFound."""
    ids = tuple(dict.fromkeys(run_ids))
    if not FEWEST <= len(ids) <= MOST:
        raise SpecError(
            Message("comparison"),
            [
                Problem(
                    "runs",
                    Message("must be {fewest} to {most} different runs", fewest=FEWEST, most=MOST),
                    str(len(ids)),
                )
            ],
        )
    runs = _in_order(by_ids(cur, ids), ids)
    asked = asked_for(cur, ids)
    fields = _fields([_configuration(run, asked[run.run_id]) for run in runs])
    speed = [asked[run.run_id].speed_parameters for run in runs]
    unknown = [_unknown(run, asked[run.run_id]) for run in runs]
    verdicts = tuple(
        _verdict(runs[0], speed[0], run, own, unknown[0] | theirs)
        for run, own, theirs in zip(runs, speed, unknown, strict=True)
    )
    measured = medians(cur, runs) if by is ComparedBy.ROWS else runs
    worst = max((one.verdict for one in verdicts), key=_SEVERITY.index)
    normalise_by = _normalise_by(worst, verdicts)
    return Comparison(
        runs=runs,
        differences=tuple(field for field in fields if _differs(field.values)),
        same=tuple(field for field in fields if not _differs(field.values)),
        metrics=tuple(_metric(metric, measured, verdicts, worst, normalise_by) for metric in METRICS),
        verdict=worst,
        reasons=tuple(dict.fromkeys(reason for one in verdicts for reason in one.reasons)),
        normalise_by=normalise_by,
        verdicts=verdicts,
        rank_results=rank_results(cur, ids),
        servers=servers(cur, ids),
        unknown=tuple(dict.fromkeys(name for one in verdicts for name in one.unknown)),
        peers=peers(cur, runs, verdicts, normalise_by),
        by=by,
    )


def _in_order(found: Sequence[RunRow], asked: Sequence[str]) -> tuple[RunRow, ...]:
    by_id = {run.run_id: run for run in found}
    missing = [run_id for run_id in asked if run_id not in by_id]
    if missing:
        raise RunNotFound(Message("no such run in the warehouse: {missing}", missing=", ".join(missing)))
    return tuple(by_id[run_id] for run_id in asked)


# --- configuration ----------------------------------------------------------------------------------


def _configuration(run: RunRow, asked: Asked) -> dict[str, object]:
    """Everything that can explain a difference, flat: `parameters.epochs`, `environments.GLOG_v`, `inputs.data_url`."""
    spec = asked.spec
    named = {name: getattr(run, name) for name in (*_DECIDING, *_DESCRIBED)}
    nested = {
        f"{group}.{name}": value
        for group in ("parameters", "environments", "log_levels")
        for name, value in spec.get(group, {}).items()
        if value is not None
    }
    secret = {f"environments.{name}": "(secret)" for name in spec.get("secrets", ())}
    packages = {f"update.{name}": PurePath(path).name for name, path in spec.get("update", {}).items() if path}
    inputs = {f"inputs.{channel['name']}": channel["path"] for channel in spec.get("inputs", ())}
    # What decides speed is known with its defaults, which a spec need not name.
    speed = {f"parameters.{name}": value for name, value in (asked.speed_parameters or {}).items() if value is not None}
    return {**named, **nested, **secret, **speed, **packages, **inputs, **{name: spec.get(name) for name in _ASKED}}


def _fields(columns: Sequence[dict[str, object]]) -> tuple[FieldValues, ...]:
    names = dict.fromkeys(name for column in columns for name in column)
    return tuple(FieldValues(name, tuple(column.get(name) for column in columns)) for name in names)


def _differs(values: Sequence[object]) -> bool:
    # 1, 1.0 and True are equal in Python, and different answers of a person.
    first = values[0]
    return any(value != first or type(value) is not type(first) for value in values[1:])


# --- verdict ----------------------------------------------------------------------------------------


def _verdict(base: RunRow, base_speed: Speed, run: RunRow, speed: Speed, unknown: frozenset[str]) -> RunVerdict:
    told = tuple(name for name in _MAY_BE_UNKNOWN if name in unknown and run.run_id != base.run_id)
    decisive = _decisive(base, run, unknown) + _different_speed(base_speed, speed)
    if decisive:
        return RunVerdict(run.run_id, Comparability.NOT_COMPARABLE, decisive, unknown=told)
    if "cards_per_node" not in unknown and base.cards_per_node != run.cards_per_node:
        return RunVerdict(run.run_id, Comparability.NORMALISED, ("cards_per_node",), "card", told)
    if base.mode is Mode.CLUSTER and "node_count" not in unknown and base.node_count != run.node_count:
        return RunVerdict(run.run_id, Comparability.NORMALISED, ("node_count",), "node", told)
    return RunVerdict(run.run_id, Comparability.COMPARABLE, unknown=told)


def _unknown(run: RunRow, asked: Asked) -> frozenset[str]:
    """What an imported run does not tell of all that decides a comparison."""
    if run.origin is Origin.LAUNCHED:
        return frozenset()
    return frozenset(name for name in _MAY_BE_UNKNOWN if name not in asked.spec)


def _normalise_by(worst: Comparability, verdicts: Sequence[RunVerdict]) -> str:
    """Per card is fair wherever per node is, but not the other way round."""
    needed = {one.normalise_by for one in verdicts} if worst is Comparability.NORMALISED else set()
    return "card" if "card" in needed else "node" if needed else ""


def _decisive(base: RunRow, run: RunRow, unknown: frozenset[str]) -> tuple[str, ...]:
    # Who does not tell the mode was a cluster as a rule: a single server is never taken for its equal.
    forgiven = unknown - {"mode"}
    different = [name for name in _DECIDING if name not in forgiven and getattr(base, name) != getattr(run, name)]
    if not base.throughput_definition and not run.throughput_definition and base.run_id != run.run_id:
        different.append("throughput_definition")  # nobody knows whether they count alike
    if not (base.dataset_sha256 and run.dataset_sha256) and "dataset_sha256" in different:
        different.remove("dataset_sha256")  # unknown is not different
    return tuple(different)


def _different_speed(base: Speed, other: Speed) -> tuple[str, ...]:
    if base is None or other is None:
        return ()
    names = dict.fromkeys([*base, *other])
    return tuple(f"parameters.{name}" for name in names if _differs((base.get(name), other.get(name))))


# --- metrics ----------------------------------------------------------------------------------------


def _metric(
    metric: columns.Column,
    runs: Sequence[RunRow],
    verdicts: Sequence[RunVerdict],
    worst: Comparability,
    normalise_by: str,
) -> MetricComparison:
    base: float | None = getattr(runs[0], metric.field)
    values = tuple(
        _against(base, getattr(run, metric.field), one.verdict) for run, one in zip(runs, verdicts, strict=True)
    )
    is_rate, is_share = metric.unit == columns.UNIT, metric.unit == columns.FRACTION
    return MetricComparison(
        metric.field,
        _common_unit(runs) if is_rate else "" if is_share else metric.unit,
        values,
        metric.compared is Compared.HIGHER_IS_BETTER,
        decides=worst is not Comparability.NOT_COMPARABLE and metric.field == _DECIDES[normalise_by],
        is_rate=is_rate,
        is_share=is_share,
    )


def _common_unit(runs: Sequence[RunRow]) -> str:
    return runs[0].throughput_unit if len({run.throughput_unit for run in runs}) == 1 else ""


def _against(base: float | None, value: float | None, verdict: Comparability) -> MetricValue:
    if base is None or value is None or verdict is Comparability.NOT_COMPARABLE:
        return MetricValue(value)
    ratio = value / base if base else math.inf
    return MetricValue(value, value - base, ratio if math.isfinite(ratio) else None)
