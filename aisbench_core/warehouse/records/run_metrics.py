"""The named metrics of single runs, and their medians over groups of runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model import Better, Combined, MetricSource, RunMetric
from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.queries.filters import KIND, kind_parameters
from aisbench_core.warehouse.queries.group_statistics import OF_GROUPS
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import THROUGHPUT, BoardQuery

_CELLS = ", ".join(name for name in TABLES["run_metrics"] if name != "run_id")


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """A metric of runs in a region: their units, and how many have it. `better`: as the newest run says;
    `is_disputed`: others say the opposite."""

    name: str
    units: tuple[str, ...]
    better: Better
    runs: int
    is_disputed: bool = False


def find_metrics(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> Mapping[str, tuple[RunMetric, ...]]:
    """The metrics of each of these runs, by name."""
    cur.execute(
        f"select run_id, {_CELLS} from run_metrics where run_id in (select unnest(?::VARCHAR[])) order by name",
        [list(run_ids)],
    )
    found: dict[str, list[RunMetric]] = defaultdict(list)
    for run_id, name, value, unit, better, combined, definition, source in cur.fetchall():
        words = Better(better), Combined(combined), definition, MetricSource(source)
        found[run_id].append(RunMetric(name, value, unit, *words))
    return {run_id: tuple(found[run_id]) for run_id in run_ids}


def find_medians(cur: DuckDBPyConnection, groups: Sequence[int]) -> Mapping[int, tuple[RunMetric, ...]]:
    """The medians of each metric in each unit over the valid runs of these groups, by name and unit."""
    cur.execute(
        f"""select group_id, name, unit, median(value), max(better)
        from run_metrics join runs using (run_id) join results using (run_id)
        where {COUNTED} and {OF_GROUPS} group by group_id, name, unit order by name, unit""",
        {"groups": list(set(groups))},
    )
    found: dict[int, list[RunMetric]] = defaultdict(list)
    for group, name, unit, value, better in cur.fetchall():
        found[group].append(RunMetric(name, value, unit, Better(better)))
    return {group: tuple(found[group]) for group in groups}


def require_metric(cur: DuckDBPyConnection, query: BoardQuery) -> None:
    """Raises SpecError if the query names a metric that no run of its region has."""
    if query.metric in ("", THROUGHPUT):
        return
    known = [metric.name for metric in list_metrics(cur, query.region, query.rehearsal)]
    if query.metric not in known:
        names = ", ".join((THROUGHPUT, *known))
        unknown = Message("no run of {region} has it; known: {names}", region=query.region, names=names)
        raise SpecError(Message("the metric"), [Problem("metric", unknown, query.metric)])


def list_metrics(cur: DuckDBPyConnection, region: str, rehearsal: bool | None = None) -> tuple[KnownMetric, ...]:
    """Every metric of the region's runs, by name."""
    cur.execute(
        f"""select name, list_sort(list(distinct unit)), max_by(better, created_at), count(*),
            count(distinct nullif(better, '')) > 1
        from run_metrics join runs using (run_id) where {KIND} group by name order by name""",
        kind_parameters(cur, region, rehearsal),
    )
    return tuple(
        KnownMetric(name, tuple(units), Better(better), runs, is_disputed)
        for name, units, better, runs, is_disputed in cur.fetchall()
    )
