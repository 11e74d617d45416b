"""The warehouse's answers by noun: each is a function of a cursor, here a method that opens one for it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.answers import (
    activity,
    board,
    board_row,
    compare,
    distinguishing,
    dots,
    expected,
    facets,
    first_trend_ids,
    goodput,
    history,
    llm,
    named_trends,
    passports,
    peers,
    ranks,
    scaling,
    servers,
)  # fmt: skip
from aisbench_core.warehouse.queries import search
from aisbench_core.warehouse.records import baselines, run_metrics, runs
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.histories import History, TrendRow, VersionField
from aisbench_core.warehouse.values.runs import PRIMARY, THROUGHPUT, BoardQuery, RunRow
from aisbench_core.warehouse.values.scalings import Scaling
from aisbench_core.warehouse.values.trend_verdicts import Regressions

P = ParamSpec("P")
T = TypeVar("T")

OpenMoment = Callable[[BoardQuery], AbstractContextManager[DuckDBPyConnection]]
"""A cursor in a transaction that sees the validity by the query's ruleset."""


class WarehouseAnswers:
    """WarehouseAnswers about one noun."""

    def __init__(self, store: Store, open_moment: OpenMoment) -> None:
        self.store = store
        self.open_moment = open_moment


def of_moment(read: Callable[Concatenate[DuckDBPyConnection, P], T]) -> Callable[Concatenate[WarehouseAnswers, P], T]:
    """A method whose queries see one moment."""

    @wraps(read)
    def answer(self: WarehouseAnswers, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.store.moment() as cur:
            return read(cur, *args, **kwargs)

    return answer


def of_ruleset(
    read: Callable[Concatenate[DuckDBPyConnection, BoardQuery, P], T],
) -> Callable[Concatenate[WarehouseAnswers, BoardQuery, P], T]:
    """The same, with the validity by the query's ruleset."""

    @wraps(read)
    def answer(self: WarehouseAnswers, query: BoardQuery, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.open_moment(query) as cur:
            return read(cur, query, *args, **kwargs)

    return answer


def of_ranking(
    read: Callable[Concatenate[DuckDBPyConnection, BoardQuery, P], T],
) -> Callable[Concatenate[WarehouseAnswers, BoardQuery, P], T]:
    """The same, with the primary metric of each workload unless the query names a metric."""

    @wraps(read)
    def answer(self: WarehouseAnswers, query: BoardQuery, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.open_moment(replace(query, metric=query.metric or PRIMARY)) as cur:
            return read(cur, query, *args, **kwargs)

    return answer


class BoardAnswers(WarehouseAnswers):
    """The leaderboard."""

    list_rows = of_ranking(board.fetch_leaderboard)
    list_benchmarks = of_ranking(board.fetch_benchmarks)
    account_row = of_moment(goodput.account_row)
    list_dots = of_ranking(dots.of_rows)
    list_newest_dots = of_ranking(dots.fetch_newest_dots)
    summarize_activity = of_moment(activity.summarize_activity)

    def find_row(self, run_id: str, metric: str = "") -> board_row.BoardRowDetails | None:
        """The row that counts this run, by `metric` as far as its runs have it; None if there is none."""
        if metric not in ("", THROUGHPUT):
            with self.store.moment() as cur:
                run_id = board_row.find_with_metric(cur, run_id, metric)
        with self.open_moment(BoardQuery("", metric=metric or PRIMARY)) as cur:
            return board_row.board_row(cur, run_id)

    def find_place(self, run_id: str) -> board_row.BoardPlace | None:
        """The row that counts this run among those of its benchmark; None if there is none."""
        with self.open_moment(BoardQuery("", metric=PRIMARY)) as cur:
            return board_row.find_place(cur, run_id)

    def find_distinctions(self, region: str, fingerprints: Iterable[str], *, rehearsal: bool) -> Mapping[str, str]:
        """What distinguishes benchmark configurations of the same workload and model, by fingerprint."""
        return distinguishing.find_distinctions(self.store, region, fingerprints, rehearsal=rehearsal)


class RunAnswers(WarehouseAnswers):
    """Single runs."""

    list_rows = of_ruleset(runs.fetch_page)
    count_rows = of_ruleset(search.count_runs)
    find_row = of_moment(runs.find_row)
    find_rows = of_moment(runs.find_rows)
    find_spec = of_moment(runs.find_spec)
    find_specs = of_moment(runs.specs_of)
    select_recorded = of_moment(runs.filter_recorded)
    find_ids = of_moment(runs.starting_with)
    find_by_job = of_moment(runs.of_jobs)
    find_usual = of_moment(peers.find_usual)
    expect_run = of_moment(expected.expect_run)
    expect_spec = of_moment(expected.expect_spec)
    find_metrics = of_moment(run_metrics.find_metrics)
    find_passports = of_moment(passports.find_passports)
    list_fulfilling = of_moment(search.list_fulfilling)
    compare = of_moment(compare.compare_runs)
    account_run = of_moment(goodput.account_run)
    describe_trainings = of_moment(llm.describe_trainings)


class CardAnswers(WarehouseAnswers):
    """Cards, and the nodes and servers that they are in."""

    find_map = of_moment(ranks.rank_map)
    fetch_spreads = of_moment(ranks.fetch_spreads)
    list_slow_nodes = of_moment(ranks.slow_nodes)
    find_hosts = of_moment(ranks.find_hosts)
    find_node_shares = of_moment(ranks.find_node_shares)
    find_servers = of_moment(servers.find_servers)


class FacetAnswers(WarehouseAnswers):
    """What runs can be filtered by."""

    list_regions = of_moment(facets.list_regions)
    list_versions = of_moment(facets.list_versions)
    fetch_values = of_moment(facets.fetch_facets)
    suggest_conditions = of_moment(facets.suggest_conditions)
    list_sizes = of_ranking(facets.fetch_sizes)
    list_metrics = of_moment(run_metrics.list_metrics)
    require_metric = of_moment(run_metrics.require_metric)


class ScalingAnswers(WarehouseAnswers):
    """Throughput over node counts."""

    list_configurations = of_moment(scaling.fetch_configurations)

    def list_curves(self, configuration: BenchmarkConfiguration, metric: str = "") -> tuple[Scaling, ...]:
        """Each curve of the configuration, those on most node counts first; of `metric` in place of the throughput."""
        with self.open_moment(BoardQuery(configuration.region, metric=metric)) as cur:
            return scaling.fetch_scalings(cur, configuration, metric)

    def find_curve(self, run_id: str, metric: str = "") -> Scaling:
        """The curve that a run lies on. Raises RunNotFound, and SpecError for a metric that no run has."""
        with self.store.moment() as cur:
            run = scaling.get_run(cur, run_id)
            run_metrics.require_metric(cur, BoardQuery(run.region, rehearsal=run.rehearsal, metric=metric))
        return self.fetch_curve(run, metric)

    def fetch_curve(self, run: RunRow, metric: str = "") -> Scaling:
        """The curve of all runs that differ from this one in their node count only."""
        with self.open_moment(BoardQuery(run.region, metric=metric)) as cur:
            return scaling.fetch_curve(cur, run, metric)


class TrendAnswers(WarehouseAnswers):
    """Throughput over time."""

    list_rows = of_moment(history.fetch_trends)
    find_first_ids = of_moment(first_trend_ids.find_first_ids)
    list_named = of_moment(named_trends.list_named)
    find_verdict = of_moment(history.find_verdict)
    list_runs = of_ruleset(history.fetch_runs)
    list_baselines = of_moment(baselines.list_marked)

    def __init__(self, store: Store, open_moment: OpenMoment) -> None:
        super().__init__(store, open_moment)
        # By ruleset and metric: verdicts under one are none under another, and both are looked up in turns.
        self._stored: defaultdict[tuple[str, str], history.TrendVerdicts] = defaultdict(dict)

    def fetch_history(
        self,
        row: TrendRow,
        by: VersionField | None = None,
        names: Sequence[str] = (),
        *,
        include_invalid: bool = False,
        metric: str = "",
    ) -> History:
        """One trend: runs, versions, changes, and the verdict; of `metric`, `name:unit`, in place of the throughput."""
        with self.open_moment(BoardQuery(row.group.region, metric=metric.partition(":")[0])) as cur:
            if not metric:
                return history.fetch_history(cur, row, by, names, include_invalid=include_invalid)
            return named_trends.fetch_named_history(cur, row, metric, by, names, include_invalid=include_invalid)

    def list_verdicts(
        self, query: BoardQuery, by: VersionField | None = None, names: Sequence[str] = ()
    ) -> Regressions:
        """The regression verdicts on all trends of the query, over runs that are valid by its ruleset.

        Raises RunNotFound if none has `names`."""
        fetch = named_trends.fetch_named_regressions if query.metric else history.fetch_regressions
        with self.open_moment(query) as cur:
            return fetch(cur, query, by, names, self._stored[query.ruleset_id, query.metric])
