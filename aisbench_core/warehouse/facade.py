"""The results warehouse as the console and the command line see it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Concatenate, ParamSpec, TypeVar

from duckdb import DuckDBPyConnection

from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.rulesets.ruleset import DEFAULT, Rulesets
from aisbench_core.model import Actor, Resolved, Run, RunRecord, WorkloadFacts
from aisbench_core.warehouse.answers import (
    activity,
    board,
    compare,
    distinguishing,
    dots,
    facets,
    history,
    peers,
    ranks,
    scaling,
    servers,
)
from aisbench_core.warehouse.answers.activity import RegionActivity
from aisbench_core.warehouse.answers.board_row import BoardRowDetails, board_row
from aisbench_core.warehouse.answers.ranks import NodeHistory
from aisbench_core.warehouse.answers.spending import StoredSpending
from aisbench_core.warehouse.exporting import export, reported
from aisbench_core.warehouse.maintenance import integrity, merging, snapshots
from aisbench_core.warehouse.queries import search
from aisbench_core.warehouse.records import baselines, record, runs
from aisbench_core.warehouse.records.annotations import StoredAnnotations
from aisbench_core.warehouse.records.imports import Imports
from aisbench_core.warehouse.records.recorder import Recorder
from aisbench_core.warehouse.records.runs import StoredSpec
from aisbench_core.warehouse.records.saved_views import SavedViews
from aisbench_core.warehouse.records.stored_series import StoredSeries
from aisbench_core.warehouse.store.engine import PATIENCE_S
from aisbench_core.warehouse.store.file_store import FileStore
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.tables.store import Compacted, Progress, Store, no_progress
from aisbench_core.warehouse.validity import validation
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values import histories
from aisbench_core.warehouse.values.boards import BenchmarkPage, BoardPage, BoardRow
from aisbench_core.warehouse.values.compared import ComparedBy, Comparison, RankMap, RankSpread, RunDot, Servers, Usual
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.exports import Export, OnRows, ignore_rows
from aisbench_core.warehouse.values.histories import Baseline, History, Regressions, TrendPage, TrendRow, VersionField
from aisbench_core.warehouse.values.runs import BoardQuery, Facets, RegionFacts, RunPage, RunRow
from aisbench_core.warehouse.values.scalings import ConfigurationPage, Scaling

P = ParamSpec("P")
T = TypeVar("T")


class Warehouse:
    """Every recorded result: in a DuckDB file that is open only during queries, or in a team's warehouse.

    Safe to share between threads, and to use from several processes at once. Every method raises WarehouseBusy if
    other processes keep it busy for too long, and WarehouseError if the warehouse cannot be used."""

    def __init__(
        self,
        location: Path | TeamLocation,
        patience_s: float = PATIENCE_S,
        rulesets: Rulesets | None = None,
        ruleset_id: str = DEFAULT,
    ) -> None:
        """`patience_s`: how long to wait for other processes. `ruleset_id`: the one of `rulesets` (by default those
        that are shipped) that decides the validity of recorded runs. Raises ConfigError and SpecError."""
        self.location = location
        self._rulesets = rulesets or Rulesets()
        self._evaluator = Evaluator(self._rulesets.get(ruleset_id))
        self._store: Store = (
            Lake(location, patience_s) if isinstance(location, TeamLocation) else FileStore(location, patience_s)
        )
        # By ruleset: verdicts under one are none under another, and both are looked up in turns.
        self._trend_verdicts: defaultdict[str, history.TrendVerdicts] = defaultdict(dict)
        self.record = Recorder(self._store, self._evaluator).record
        self.annotations = StoredAnnotations(self._store)
        self.saved_views = SavedViews(self._store)
        self.spending = StoredSpending(self._store)
        self.merging = merging.WarehouseMerge(self._store, self._evaluator)
        self.imports = Imports(self._store, self._evaluator)
        self.series = StoredSeries(self._store, self._evaluator_of, self._open_moment)

    def cursor(self) -> AbstractContextManager[DuckDBPyConnection]:
        """A cursor for a moment, one per thread at a time."""
        return self._store.cursor()

    def _run_query(
        self, query: Callable[Concatenate[DuckDBPyConnection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._store.cursor() as cur:
            return query(cur, *args, **kwargs)

    @contextmanager
    def _open_moment(self, query: BoardQuery) -> Iterator[DuckDBPyConnection]:
        """A cursor in a transaction that sees the validity by the query's ruleset."""
        evaluator = self._evaluator_of(query.ruleset_id) if query.ruleset_id else None
        with self._store.moment() as cur:
            if evaluator:
                validation.overlay(cur, query, evaluator)
            yield cur

    def _evaluator_of(self, ruleset_id: str) -> Evaluator:
        return Evaluator(self._rulesets.get(ruleset_id)) if ruleset_id else self._evaluator

    def revision(self) -> str:
        """A text that changes with every change of the content; a file is not opened for it."""
        return self._store.revision()

    def record_many(self, records: Iterable[RunRecord]) -> int:
        """Store many records in several transactions; returns how many. Can be repeated after an interruption."""
        return record.record_many(self._store, records, self._evaluator)

    def rebuild(self, records: Iterable[RunRecord], keep: Iterable[str] = ()) -> int:
        """Make the content equal to `records` and runs to `keep`; returns how many records. Can be repeated.

        In a team's warehouse this removes what other people recorded: use `record_many` there."""
        return record.rebuild(self._store, records, self._evaluator, keep)

    def holds(self, run_record: RunRecord) -> bool | None:
        """Whether what is stored of a run has the hash of this record; None if nothing is stored."""
        return self._run_query(record.has_same_hash, run_record, self._evaluator)

    def agrees(self, run_record: RunRecord) -> bool:
        """Whether what is stored of a run was launched and measured as in this record, as far as both know it."""
        return self._run_query(record.has_same_measurements, run_record, self._evaluator)

    def move_to(self, target: "Warehouse", on_progress: Progress) -> merging.Moved:
        """Copy everything into another warehouse, and compare. Can be repeated."""
        return merging.move(self._store, target._store, on_progress)

    def snapshot(self, target: Path, at: datetime, *, replace: bool = False) -> snapshots.Snapshot:
        """Write everything of this moment into one read-only file. Raises ConfigError if it cannot be written."""
        return snapshots.create(self._store, target, at, replace=replace)

    def check(
        self, records: Iterable[RunRecord], on_progress: Progress = no_progress, *, mend: bool = False
    ) -> integrity.IntegrityReport:
        """Recompute everything, and compare it with the runs' folders. `mend`: recompute group statistics first."""
        return integrity.check(self._store, records, self._store.loose_files(), self._rulesets, on_progress, mend=mend)

    def compact(self) -> Compacted:
        """Rewrite it in as little space and as few files as possible. Other processes wait for a file meanwhile."""
        return self._store.compact()

    def regions(self) -> list[RegionFacts]:
        """The regions with runs; measurements first, then rehearsals."""
        return self._run_query(facets.list_regions)

    def facets(self, region: str, rehearsal: bool | None = None) -> Facets:
        """What a region's runs can be filtered by."""
        return self._run_query(facets.fetch_facets, region, rehearsal)

    def versions(self) -> tuple[str, ...]:
        """Every framework version in the warehouse, the oldest first."""
        return self._run_query(facets.list_versions)

    def leaderboard(self, query: BoardQuery) -> BoardPage:
        """One page of the leaderboard. Raises ValueError if the sort is not in BOARD_SORTS."""
        with self._open_moment(query) as cur:
            return board.fetch_leaderboard(cur, query)

    def benchmarks(self, query: BoardQuery, most: int) -> BenchmarkPage:
        """One page of benchmarks, by name, each with its best `most` configurations."""
        with self._open_moment(query) as cur:
            return board.fetch_benchmarks(cur, query, most)

    def board_row(self, run_id: str) -> BoardRowDetails | None:
        """The leaderboard's row that counts this run, with its runs; None if the run was not recorded."""
        with self._store.moment() as cur:
            return board_row(cur, run_id)

    def newest_dots(self, query: BoardQuery, rows: Sequence[BoardRow], limit: int) -> Mapping[str, tuple[RunDot, ...]]:
        """Up to `limit` of the newest valid runs of each row, in time order, by the row's latest run."""
        with self._open_moment(query) as cur:
            return dots.fetch_newest_dots(cur, query, rows, limit)

    def dots(self, query: BoardQuery, rows: Sequence[BoardRow], limit: int) -> Mapping[str, tuple[RunDot, ...]]:
        """Up to `limit` valid runs of each of the leaderboard's rows, by the row's latest run."""
        with self._open_moment(query) as cur:
            return dots.of_rows(cur, query, rows, limit)

    def runs(self, query: BoardQuery) -> RunPage:
        """One page of runs. Raises SpecError if the sort is not in RUN_SORTS."""
        with self._open_moment(query) as cur:
            return runs.fetch_page(cur, query)

    def count(self, query: BoardQuery) -> int:
        """How many runs the query chooses on all pages."""
        with self._open_moment(query) as cur:
            return search.count_runs(cur, query)

    def run(self, run_id: str) -> RunRow | None:
        """One run; None if it was not recorded."""
        return self.runs_of([run_id]).get(run_id)

    def spec_of(self, run_id: str) -> StoredSpec | None:
        """A run's spec, of an imported run only the known fields; None if it was not recorded."""
        return self._run_query(runs.specs_of, [run_id]).get(run_id)

    def runs_of(self, run_ids: Sequence[str]) -> Mapping[str, RunRow]:
        """Those of the runs that were recorded, by id."""
        return {row.run_id: row for row in self._run_query(runs.by_ids, run_ids)}

    def select_recorded(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Those of the runs that were recorded."""
        return self._run_query(runs.filter_recorded, run_ids)

    def starting_with(self, starts: Sequence[str]) -> frozenset[str]:
        """The ids of recorded runs that have one of these prefixes, which are equally long."""
        return self._run_query(runs.starting_with, starts)

    def of_jobs(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        """The recorded run of each job that was launched here, by the job's id."""
        return self._run_query(runs.of_jobs, job_ids)

    def rank_map(self, run_id: str) -> RankMap | None:
        """A run's cards by node, with its stragglers; None without results of single cards."""
        return self._run_query(ranks.rank_map, run_id)

    def rank_spreads(self, run_ids: Sequence[str]) -> Mapping[str, RankSpread]:
        """The spread of the cards of each run; runs without results of single cards are left out."""
        return self._run_query(ranks.fetch_spreads, run_ids)

    def slow_nodes(self, region: str, *, rehearsal: bool, now: datetime) -> list[NodeHistory]:
        """The nodes of a region that had slow cards in any of their last runs, the most often slow ones first."""
        return self._run_query(ranks.slow_nodes, region, rehearsal=rehearsal, now=now)

    def servers(self, run_id: str) -> Servers | None:
        """The results of each server of a single-server run; None for other runs."""
        return self._run_query(servers.fetch_servers, [run_id]).get(run_id)

    def compare(self, run_ids: Sequence[str], by: ComparedBy = ComparedBy.RUNS) -> Comparison:
        """2 to 8 runs, or rows, against the first. Raises RunNotFound, and SpecError for another number."""
        return self._run_query(compare.compare_runs, run_ids, by)

    def distinctions(self, region: str, fingerprints: Iterable[str], *, rehearsal: bool) -> Mapping[str, str]:
        """What distinguishes benchmark configurations of the same workload and model, by fingerprint."""
        return distinguishing.find_distinctions(self._store, region, fingerprints, rehearsal=rehearsal)

    def configurations(self, query: BoardQuery) -> ConfigurationPage:
        """One page of benchmark configurations that were run on several nodes."""
        return self._run_query(scaling.fetch_configurations, query)

    def fetch_scaling(self, configuration: BenchmarkConfiguration) -> tuple[Scaling, ...]:
        """Throughput, speed-up and efficiency over node counts: a curve for each version and hardware."""
        return self._run_query(scaling.fetch_scalings, configuration)

    def scaling_of(self, run_id: str) -> Scaling:
        """The scaling of runs that differ from this one in the node count only. Raises RunNotFound."""
        return self._run_query(scaling.scaling_of, run_id)

    def curve(self, run: RunRow) -> Scaling:
        """As `scaling_of`, for a run that is already loaded."""
        return self._run_query(scaling.fetch_curve, run)

    def trends(self, query: BoardQuery) -> TrendPage:
        """One page of the trends, the latest first."""
        return self._run_query(history.fetch_trends, query)

    def first_trend_ids(self, rows: Sequence[TrendRow]) -> dict[str, str]:
        """Today's ids of trends by those that links of before hold."""
        return self._run_query(history.first_ids, rows)

    def history(
        self, row: TrendRow, by: VersionField | None = None, names: Sequence[str] = (), *, include_invalid: bool = False
    ) -> History:
        """One trend: runs, versions, changes, and the regression verdict on the newest runs.

        `by`: what a version is. `names`: a baseline (versions or run ids) instead of the marked one."""
        with self._store.moment() as cur:
            return history.fetch_history(cur, row, by, names, include_invalid=include_invalid)

    def history_runs(self, query: BoardQuery, row: TrendRow) -> histories.HistoryPage:
        """One page of a trend's runs. Raises SpecError if the sort is not in HISTORY_SORTS."""
        with self._store.moment() as cur:
            return history.fetch_runs(cur, query, row.group)

    def regressions(self, query: BoardQuery, by: VersionField | None = None, names: Sequence[str] = ()) -> Regressions:
        """The regression verdicts on all trends of the query, over runs that are valid by its ruleset.

        Raises RunNotFound if none has `names`."""
        with self._open_moment(query) as cur:
            return history.fetch_regressions(cur, query, by, names, self._trend_verdicts[query.ruleset_id])

    def activity(self, query: BoardQuery, since: datetime) -> RegionActivity:
        """Records broken and node hours used since a moment."""
        with self._store.moment() as cur:
            return activity.summarize_activity(cur, query, since)

    def usual(
        self, run: Run, facts: WorkloadFacts, resolved: Resolved, region: str, *, rehearsal: bool
    ) -> Usual | None:
        """What valid runs of the same configuration and size reached before; None if there are none."""
        return self._run_query(peers.find_usual, run, facts, resolved, region, rehearsal=rehearsal)

    def validate(self, query: BoardQuery) -> validation.Validation:
        """Evaluate every run that the query chooses; without a ruleset in it, by the one used for recording.

        Raises ConfigError and SpecError if the ruleset cannot be used."""
        return self._run_query(validation.validate, query, self._evaluator_of(query.ruleset_id))

    @permitted
    def store_evaluations(self, result: validation.Validation, actor: Actor) -> int:
        """Store the evaluations that differ from the stored ones; returns how many."""
        log_change(actor, f"store validity by ruleset {result.ruleset_id}")
        run_ids = [run.run_id for run in result.runs if not run.is_stored]
        return validation.store_evaluations(self._store, run_ids, self._evaluator_of(result.ruleset_id))

    @permitted
    def mark_baseline(self, run_ids: Sequence[str], field: VersionField | None, actor: Actor, at: datetime) -> Baseline:
        """Make these runs, or with `field` all runs of their versions, the baseline of their trend.

        Raises RunNotFound, and SpecError unless they are valid runs of one trend."""
        return baselines.mark(self._store, run_ids, field, actor.name, at)

    @permitted
    def unmark_baseline(self, group_id: str, actor: Actor) -> bool:
        """Remove a baseline; says whether there was one."""
        log_change(actor, f"remove the baseline of {group_id}")
        return baselines.unmark(self._store, group_id)

    def baselines(self) -> list[Baseline]:
        """Every marked baseline, the oldest mark first."""
        return list(self._run_query(baselines.by_trend).values())

    def export(self, request: Export, target: IO[bytes], on_rows: OnRows = ignore_rows) -> int:
        """Write every run of the query, not only of its page; returns the number of rows. See docs/export.md.

        `on_rows` is called with the number of rows in a workbook so far.

        Raises SpecError if there are more rows than Excel can have."""
        evaluator = self._evaluator_of(request.query.ruleset_id)
        with self._open_moment(request.query) as cur:
            return export.write(cur, request, evaluator, target, self._rulesets.bases(), on_rows=on_rows)

    def fetch_reported(self, run_ids: Sequence[str], at: datetime, ruleset_id: str = "") -> reported.Reported:
        """The content of a report about these runs; those that do not exist are left out."""
        run = next(iter(self.runs_of(run_ids).values()), None) if ruleset_id else None
        query = BoardQuery(run.region, rehearsal=run.rehearsal, ruleset_id=ruleset_id) if run else BoardQuery("")
        with self._open_moment(query) as cur:
            return reported.fetch_reported(cur, run_ids, at, self._evaluator_of(ruleset_id), self._rulesets.bases())
