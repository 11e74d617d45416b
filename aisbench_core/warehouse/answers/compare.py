"""Runs side by side: what differs, each metric against the baseline, and whether the runs can be compared."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, RunNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model import Better, Mode, Origin, RunMetric, columns, resolved_of
from aisbench_core.model.columns import Compared, list_compared
from aisbench_core.model.spec_fields import PLAIN_FIELDS, compared_fields, default_of
from aisbench_core.warehouse.answers.passports import compare_captured
from aisbench_core.warehouse.answers.peers import fetch_medians, fetch_peers, group_ids
from aisbench_core.warehouse.answers.servers import fetch_servers
from aisbench_core.warehouse.measures.fingerprint import (
    captured_speed,
    reads_one_source,
    resolved_fields,
    resolved_speed,
)
from aisbench_core.warehouse.records.run_metrics import find_medians, find_metrics
from aisbench_core.warehouse.records.runs import StoredSpec, by_ids, rank_results, specs_of
from aisbench_core.warehouse.values.compared import (
    MAX_COMPARED,
    MIN_COMPARED,
    Comparability,
    ComparedBy,
    Comparison,
    FieldValues,
    MetricComparison,
    MetricValue,
    RunComparability,
)
from aisbench_core.warehouse.values.runs import RunRow

# A ratio between runs that differ in one of these, or in a parameter that decides speed, has no meaning.
_DECIDING = tuple(column.field for column in list_compared(Compared.DECIDES))

_DESCRIBING = tuple(column.field for column in list_compared(Compared.DESCRIBES))

# Fields of a spec that decide a comparison, and that the source of an imported result may not contain.
_MAY_BE_UNKNOWN = ("parameters", "mode", "node_count", "cards_per_node")

Speed = Mapping[str, object] | None
"""The parameters that decide a run's speed; None: unknown."""

METRICS = sorted(
    list_compared(Compared.HIGHER_IS_BETTER, Compared.LOWER_IS_BETTER), key=lambda column: column.unit != columns.UNIT
)

_DECISIVE_METRIC = {"": "throughput", "node": "per_node", "card": "per_card"}
_SEVERITY = (Comparability.COMPARABLE, Comparability.NORMALISED, Comparability.NOT_COMPARABLE)


def compare_runs(cur: DuckDBPyConnection, run_ids: Sequence[str], by: ComparedBy = ComparedBy.RUNS) -> Comparison:
    """The runs, or their rows, in the order of `run_ids`, each against the first. Raises SpecError and RunNotFound."""
    ids = tuple(dict.fromkeys(run_ids))
    if not MIN_COMPARED <= len(ids) <= MAX_COMPARED:
        limits = Message("must be {fewest} to {most} different runs", fewest=MIN_COMPARED, most=MAX_COMPARED)
        raise SpecError(Message("comparison"), [Problem("runs", limits, str(len(ids)))])
    runs = _in_order(by_ids(cur, ids), ids)
    stored = specs_of(cur, ids)
    specs = [stored[run_id] for run_id in ids]
    set_anywhere = {name for spec in specs for name in compared_fields(spec.spec) if name in PLAIN_FIELDS}
    set_anywhere -= {*_DECIDING, *_DESCRIBING}
    fields = _build_fields(
        [_flatten_configuration(run, spec, set_anywhere) for run, spec in zip(runs, specs, strict=True)]
    )
    by_run = tuple(_derive_comparability(runs[0], specs[0], run, spec) for run, spec in zip(runs, specs, strict=True))
    worst = max((one.verdict for one in by_run), key=_SEVERITY.index)
    normalise_by = _normalise_by(by_run)
    decisive = _DECISIVE_METRIC[normalise_by] if _has_comparable(by_run) else ""
    measured = fetch_medians(cur, runs) if by is ComparedBy.ROWS else runs
    return Comparison(
        runs=runs,
        differences=tuple(field for field in fields if _has_differences(field.values)),
        same=tuple(field for field in fields if not _has_differences(field.values)),
        metrics=(
            *(_compare_metric(metric, measured, by_run, decisive, by) for metric in METRICS),
            *_compare_named(_find_named(cur, runs, by), by_run, by),
        ),
        verdict=worst,
        reasons=tuple(dict.fromkeys(reason for one in by_run for reason in one.reasons)),
        normalise_by=normalise_by,
        verdicts=by_run,
        rank_results=rank_results(cur, ids),
        servers=fetch_servers(cur, ids),
        unknown=tuple(dict.fromkeys(name for one in by_run for name in one.unknown)),
        peers=fetch_peers(cur, runs, by_run, normalise_by),
        by=by,
        captured=compare_captured([spec.passport for spec in specs]),
    )


def _in_order(rows: Sequence[RunRow], run_ids: Sequence[str]) -> tuple[RunRow, ...]:
    by_id = {row.run_id: row for row in rows}
    missing = [run_id for run_id in run_ids if run_id not in by_id]
    if missing:
        raise RunNotFound(Message("no such run in the warehouse: {missing}", missing=", ".join(missing)))
    return tuple(by_id[run_id] for run_id in run_ids)


# --- configuration ----------------------------------------------------------------------------------


def _flatten_configuration(run: RunRow, stored: StoredSpec, set_anywhere: Collection[str]) -> dict[str, object]:
    """Everything that can explain a difference, flat: `parameters.epochs`, `environments.GLOG_v`, `inputs.data_url`.

    `set_anywhere`: the fields that some run sets; a launched run without one has its default."""
    spec, speed = stored.spec, stored.speed_parameters or {}
    fields = compared_fields(spec)
    defaults = {} if run.origin is Origin.IMPORTED else {name: default_of(name) for name in set_anywhere}
    update = {f"update.{name}": PurePath(path).name for name, path in spec.get("update", {}).items() if path}
    return {
        **{name: getattr(run, name) for name in (*_DECIDING, *_DESCRIBING)},
        **defaults,
        **{name: value for name, value in fields.items() if name not in ("secrets", *_DECIDING, *_DESCRIBING)},
        **{f"environments.{name}": "(secret)" for name in spec.get("secrets", ())},
        # These include defaults, which a spec need not contain.
        **{f"parameters.{name}": value for name, value in speed.items() if value is not None},
        **update,
        **_list_contents(run, speed),
        **captured_speed(stored.passport, run.resolved),
    }


def _list_contents(run: RunRow, speed: Mapping[str, object]) -> dict[str, object]:
    """What was behind names of the spec when its job was created."""
    found = resolved_of(run.resolved)
    digest = {"image_digest": found.digest} if found.digest else {}
    code = {"algorithm_sha256": found.code.sha256} if found.code and found.code.sha256 else {}
    files = {
        f"parameters.{name}": f"{speed[name]} (sha256:{sha256})"
        for name, sha256 in found.file_hashes.items()
        if name in speed  # of an imported run they are unknown
    }
    inputs = {f"inputs.{name}.sha256": sha256 for name, sha256 in found.input_hashes.items()}
    return {**digest, **code, **files, **inputs}


def _build_fields(configurations: Sequence[Mapping[str, object]]) -> tuple[FieldValues, ...]:
    names = dict.fromkeys(name for one in configurations for name in one)
    return tuple(FieldValues(name, tuple(one.get(name) for one in configurations)) for name in names)


def _has_differences(values: Sequence[object]) -> bool:
    # 1, 1.0 and True are equal in Python, but not as somebody's parameters.
    first = values[0]
    return any(value != first or type(value) is not type(first) for value in values[1:])


# --- comparability ----------------------------------------------------------------------------------


def _derive_comparability(base: RunRow, base_spec: StoredSpec, run: RunRow, spec: StoredSpec) -> RunComparability:
    unknown = _find_unknown(base, base_spec) | _find_unknown(run, spec)
    named = tuple(name for name in _MAY_BE_UNKNOWN if name in unknown and run.run_id != base.run_id)
    if run.run_id != base.run_id:
        named = tuple(dict.fromkeys((*named, *base.unknowns, *run.unknowns)))
    pairs = ((base, base_spec), (run, spec))
    speeds = (resolved_speed(one.speed_parameters, row.resolved) for row, one in pairs)
    reasons = _find_decisive(base, run, unknown) + _different_speed(*speeds)
    different = _different_fields(base, base_spec, run, spec)
    is_reported = all(row.dataset_sha256 and reads_one_source(one.spec) for row, one in pairs)
    inputs = _undecided_inputs(different, is_reported=is_reported)
    if inputs and not is_reported:
        named = tuple(dict.fromkeys((*named, "data")))
    reasons += tuple(name for name in different if name not in inputs)
    if base_spec.passport and spec.passport:
        found = (captured_speed(one.passport, row.resolved) for row, one in pairs)
        reasons += tuple(field.field for field in _build_fields(list(found)) if _has_differences(field.values))
    if reasons:
        return RunComparability(run.run_id, Comparability.NOT_COMPARABLE, reasons, unknown=named)
    if "cards_per_node" not in unknown and base.cards_per_node != run.cards_per_node:
        return RunComparability(run.run_id, Comparability.NORMALISED, ("cards_per_node",), "card", named)
    if base.mode is Mode.CLUSTER and "node_count" not in unknown and base.node_count != run.node_count:
        return RunComparability(run.run_id, Comparability.NORMALISED, ("node_count",), "node", named)
    return RunComparability(run.run_id, Comparability.COMPARABLE, unknown=named)


def _find_unknown(run: RunRow, stored: StoredSpec) -> frozenset[str]:
    if run.origin is Origin.LAUNCHED:
        return frozenset()
    return frozenset(name for name in _MAY_BE_UNKNOWN if name not in stored.spec)


def _has_comparable(by_run: Sequence[RunComparability]) -> bool:
    return any(one.verdict is not Comparability.NOT_COMPARABLE for one in by_run[1:])


def _normalise_by(by_run: Sequence[RunComparability]) -> str:
    # Per card is fair wherever per node is, but not the other way round. A run that cannot be compared has no say.
    units = {one.normalise_by for one in by_run}
    return next((unit for unit in ("card", "node") if unit in units), "")


def _find_decisive(base: RunRow, run: RunRow, unknown: frozenset[str]) -> tuple[str, ...]:
    # An unknown mode is stored as cluster, which most are; a single server must not be taken for its equal.
    ignored = unknown - {"mode"}
    different = [name for name in _DECIDING if name not in ignored and getattr(base, name) != getattr(run, name)]
    if not base.throughput_definition and not run.throughput_definition and base.run_id != run.run_id:
        different.append("throughput_definition")  # two unknown definitions are not known to be equal
    if not (base.dataset_sha256 and run.dataset_sha256) and "dataset_sha256" in different:
        different.remove("dataset_sha256")  # an unknown hash is no difference
    return tuple(different)


def _different_speed(base: Speed, other: Speed) -> tuple[str, ...]:
    if base is None or other is None:
        return ()
    names = dict.fromkeys([*base, *other])
    return tuple(f"parameters.{name}" for name in names if _has_differences((base.get(name), other.get(name))))


def _different_fields(
    base: RunRow, base_spec: StoredSpec, run: RunRow, spec: StoredSpec
) -> Mapping[str, tuple[object, object]]:
    """The fields of the spec that decide speed and differ; of an imported run only those that its source states."""
    before, after = resolved_fields(base_spec.spec, base.resolved), resolved_fields(spec.spec, run.resolved)
    stated = [one.spec for row, one in ((base, base_spec), (run, spec)) if row.origin is Origin.IMPORTED]
    both = {name: (before.get(name), after.get(name)) for name in [*before, *after]}
    return {
        name: values
        for name, values in both.items()
        if _has_differences(values) and all(name.partition(".")[0] in known for known in stated)
    }


def _undecided_inputs(different: Mapping[str, tuple[object, object]], *, is_reported: bool) -> Collection[str]:
    """The inputs whose path or hash says nothing about whether the runs read the same data.

    `is_reported`: both jobs reported the hash of their only input, which decides. A path is never compared with the
    hash of a list; an input that only one of the runs has is a difference."""
    inputs = [name for name in different if name.startswith("inputs.") and name.count(".") == 1]
    return inputs if is_reported else [name for name in inputs if _are_of_two_kinds(*different[name])]


def _are_of_two_kinds(before: object, after: object) -> bool:
    return bool(before and after) and _is_hash(before) != _is_hash(after)


def _is_hash(value: object) -> bool:
    return str(value).startswith("sha256:")


# --- metrics ----------------------------------------------------------------------------------------


def _compare_metric(
    metric: columns.Column,
    runs: Sequence[RunRow],
    by_run: Sequence[RunComparability],
    decisive: str,
    by: ComparedBy,
) -> MetricComparison:
    base: float | None = getattr(runs[0], metric.field)
    values = tuple(
        _compare_value(
            base, getattr(run, metric.field), one.verdict, is_known=not (by is ComparedBy.ROWS and one.unknown)
        )
        for run, one in zip(runs, by_run, strict=True)
    )
    is_rate, is_share = metric.unit == columns.UNIT, metric.unit == columns.FRACTION
    units = {run.throughput_unit for run in runs}
    common_unit = runs[0].throughput_unit if len(units) == 1 else ""
    return MetricComparison(
        metric.field,
        common_unit if is_rate else "" if is_share else metric.unit,
        values,
        metric.compared is Compared.HIGHER_IS_BETTER,
        decides=metric.field == decisive,
        is_rate=is_rate,
        is_share=is_share,
    )


def _find_named(cur: DuckDBPyConnection, runs: Sequence[RunRow], by: ComparedBy) -> list[Sequence[RunMetric]]:
    if by is ComparedBy.RUNS:
        of_runs = find_metrics(cur, [run.run_id for run in runs])
        return [of_runs[run.run_id] for run in runs]
    groups = group_ids(runs)
    of_groups = find_medians(cur, groups)
    return [of_groups[group] for group in groups]


def _compare_named(
    named: Sequence[Sequence[RunMetric]], by_run: Sequence[RunComparability], by: ComparedBy
) -> Iterator[MetricComparison]:
    """The runs' own metrics; one that runs have in several units has a row for each unit."""
    by_key = [{(metric.name, metric.unit): metric for metric in metrics} for metrics in named]
    for key in sorted({key for metrics in by_key for key in metrics}):
        found = [metrics.get(key) for metrics in by_key]
        numbers = [metric.value if metric else None for metric in found]
        values = tuple(
            _compare_value(numbers[0], number, one.verdict, is_known=not (by is ComparedBy.ROWS and one.unknown))
            for number, one in zip(numbers, by_run, strict=True)
        )
        is_lower_better = any(metric and metric.better is Better.LOWER for metric in found)
        yield MetricComparison(*key, values, higher_is_better=not is_lower_better, is_named=True)


def _compare_value(
    base: float | None, value: float | None, comparability: Comparability, *, is_known: bool
) -> MetricValue:
    if not is_known:  # rows may hold runs that differ in it, so that their medians have no ratio
        return MetricValue(value)
    if base is None or value is None or comparability is Comparability.NOT_COMPARABLE:
        return MetricValue(value)
    ratio = value / base if base else math.inf
    return MetricValue(value, value - base, ratio if math.isfinite(ratio) else None)
