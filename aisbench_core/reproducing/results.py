"""A reproduction's result against the original's, and against the spread of the original's group."""

from aisbench_core.model import RunState
from aisbench_core.reproducing.values import Repeated, Sameness
from aisbench_core.statistics.summary import prediction_interval
from aisbench_core.warehouse import BoardQuery, Comparability, RunRow, Warehouse
from aisbench_core.warehouse.answers.histories import Trend

# The newest runs of the group that are used.
MOST = 1000


def repeated(warehouse: Warehouse, original: RunRow, run: RunRow) -> Repeated:
    """The comparison of two recorded runs."""
    compared = warehouse.compare([original.run_id, run.run_id])
    throughputs = _group(warehouse, original)
    expected = prediction_interval(throughputs)
    comparable = compared.verdict is Comparability.COMPARABLE and run.state is RunState.COMPLETED
    measured = original.throughput is not None and run.throughput is not None and original.throughput > 0
    return Repeated(
        original=original,
        run=run,
        verdict=compared.verdict,
        not_comparable=compared.reasons,
        ratio=(run.throughput or 0.0) / (original.throughput or 1.0) if comparable and measured else None,
        runs=len(throughputs),
        low=expected[0] if expected else None,
        high=expected[1] if expected else None,
        dataset=_data(original, run),
    )


def _group(warehouse: Warehouse, original: RunRow) -> list[float]:
    """Throughputs of the valid runs with the original's benchmark configuration, hardware and software."""
    query = BoardQuery(
        original.region,
        rehearsal=original.rehearsal,
        fingerprint=original.fingerprint,
        framework_versions=(original.framework_version,),
        synthetic_data=original.synthetic_data,
        origin=original.origin,
        sort="created_at",
        limit=MOST,
    )
    group = Trend.of(original)
    return [
        row.throughput
        for row in warehouse.runs(query).rows
        if row.throughput is not None and not row.reproduces and Trend.of(row) == group
    ]


def _data(original: RunRow, run: RunRow) -> Sameness:
    if not original.dataset_sha256 or not run.dataset_sha256:
        return Sameness.NOT_KNOWN
    return Sameness.SAME if original.dataset_sha256 == run.dataset_sha256 else Sameness.DIFFERENT
