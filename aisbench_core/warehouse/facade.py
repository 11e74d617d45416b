"""The results warehouse as the console and the command line see it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.model import RankResult, RunRecord
from aisbench_core.rulesets.ruleset import DEFAULT
from aisbench_core.rulesets.shelf import Rulesets
from aisbench_core.warehouse.answers import (
    baselines,
    board,
    compare,
    dots,
    facets,
    histories,
    history,
    ranks,
    scaling,
    search,
    servers,
)
from aisbench_core.warehouse.answers.boards import BoardPage, BoardRow
from aisbench_core.warehouse.answers.compared import ComparedBy, Comparison, RankMap, RankSpread, RunDot, Servers
from aisbench_core.warehouse.answers.distinguishing import Distinguishing
from aisbench_core.warehouse.answers.histories import Baseline, GroupPage, GroupRow, History, Regressions, VersionField
from aisbench_core.warehouse.answers.listed import ListPage
from aisbench_core.warehouse.answers.scalings import QuestionPage, Scaling, ScalingQuestion
from aisbench_core.warehouse.exporting import export, reported
from aisbench_core.warehouse.exports import Export
from aisbench_core.warehouse.records import record, runs
from aisbench_core.warehouse.records.imports import Imports
from aisbench_core.warehouse.records.people import People
from aisbench_core.warehouse.records.recorder import Recorder
from aisbench_core.warehouse.records.runs import Asked
from aisbench_core.warehouse.records.stored_series import StoredSeries
from aisbench_core.warehouse.store import compacting, integrity, migrating, snapshots
from aisbench_core.warehouse.store.connection import PATIENCE_S, Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.merging import WarehouseMerge
from aisbench_core.warehouse.store.migrating import Told, unheard
from aisbench_core.warehouse.store.team import TeamPlace
from aisbench_core.warehouse.validity import verdicts
from aisbench_core.warehouse.validity.judging import Judge
from aisbench_core.warehouse.values import BoardQuery, Facets, RegionFacts, RunPage, RunRow


class Warehouse:
    """Every recorded result: in one DuckDB file that is open only while somebody asks, or in a team's warehouse.

    Safe to share between threads, and to use from several processes at once. Every method raises WarehouseBusy when
    another process is in the way for too long, and WarehouseError when the warehouse cannot be used."""

    def __init__(
        self,
        place: Path | TeamPlace,
        patience_s: float = PATIENCE_S,
        rulesets: Rulesets | None = None,
        ruleset_id: str = DEFAULT,
    ) -> None:
        """`patience_s`: how long to wait for other processes before WarehouseBusy. `ruleset_id` names the one of
        `rulesets` (by default the shipped ones) that judges what is recorded. Raises ConfigError and SpecError."""
        self.place = place
        self._rulesets = rulesets or Rulesets()
        self._judge = Judge(self._rulesets.get(ruleset_id))
        self._connection = Lake(place, patience_s) if isinstance(place, TeamPlace) else Connection(place, patience_s)
        self.record = Recorder(self._connection, self._judge).record
        self.people = People(self._connection)
        self.apart = Distinguishing(self._connection)
        self.taking = WarehouseMerge(self._connection, self._judge)
        self.imports = Imports(self._connection, self._judge)
        self.series = StoredSeries(self._connection, self._judge_of, self._under)

    def cursor(self) -> AbstractContextManager[DuckDBPyConnection]:
        """A cursor of your own, for a moment. Do not borrow a second one while you hold it."""
        return self._connection.cursor()

    @contextmanager
    def _under(self, query: BoardQuery) -> Iterator[DuckDBPyConnection]:
        """A cursor that sees the verdicts which the query asks for."""
        judge = self._judge_of(query.ruleset_id) if query.ruleset_id else None
        with self._connection.moment() as cur:
            if judge:
                verdicts.lay_over(cur, query, judge)
            yield cur

    def _judge_of(self, ruleset_id: str) -> Judge:
        return Judge(self._rulesets.get(ruleset_id)) if ruleset_id else self._judge

    def revision(self) -> str:
        """A text that changes whenever the content does; asking for it opens no file."""
        return self._connection.revision()

    def record_many(self, records: Iterable[RunRecord]) -> int:
        """Store many records, some hundred in one transaction; returns how many. Can be repeated when interrupted."""
        return record.record_many(self._connection, records, self._judge)

    def rebuild(self, records: Iterable[RunRecord], others: Iterable[str] = ()) -> int:
        """Make the content equal to `records`, and leave `others`; returns how many records. Can be repeated.

        In a team's warehouse this removes what other people recorded: use `record_many` there."""
        return record.rebuild(self._connection, records, self._judge, others)

    def move_to(self, target: "Warehouse", told: Told, at_once: int | None = None) -> migrating.Moved:
        """Copy everything into another warehouse, `at_once` runs at a time, and compare. Can be repeated."""
        return migrating.move(self._connection, target._connection, told, at_once)

    def snapshot(self, target: Path, at: datetime, *, replace: bool = False) -> snapshots.Snapshot:
        """Write everything of this moment into one file for others. Raises ConfigError when it cannot be written."""
        return snapshots.take(self._connection, target, at, replace=replace)

    def check(
        self, records: Iterable[RunRecord], told: Told = unheard, *, mend: bool = False
    ) -> integrity.IntegrityReport:
        """Read and compute everything again, and compare it with the runs' folders; `mend` standings first."""
        return integrity.check(self._connection, records, compacting.loose(self._connection), told, mend=mend)

    def compact(self) -> compacting.Compacted:
        """Make it small and quick again; others wait, or go on, meanwhile."""
        return compacting.compact(self._connection)

    def regions(self) -> list[RegionFacts]:
        """The regions that runs are known of; measurements first, then rehearsals."""
        with self.cursor() as cur:
            return facets.regions(cur)

    def facets(self, region: str, rehearsal: bool | None = None) -> Facets:
        """What a region's runs can be filtered by."""
        with self.cursor() as cur:
            return facets.facets(cur, region, rehearsal)

    def leaderboard(self, query: BoardQuery) -> BoardPage:
        """One page of the leaderboard. Raises ValueError on a sort that BOARD_SORTS does not hold."""
        with self._under(query) as cur:
            return board.leaderboard(cur, query)

    def dots(self, query: BoardQuery, rows: Sequence[BoardRow], most: int) -> Mapping[str, tuple[RunDot, ...]]:
        """Single valid runs of each of the leaderboard's rows, at most `most`, by the row's latest run."""
        with self._under(query) as cur:
            return dots.of_rows(cur, query, rows, most)

    def runs(self, query: BoardQuery) -> RunPage:
        """One page of runs, with all that is known of each. Raises SpecError on a sort that RUN_SORTS does not hold."""
        with self._under(query) as cur:
            return runs.page(cur, query)

    def search(self, query: BoardQuery) -> ListPage:
        """One page of runs, with what lists say of each: several times as quick as `runs`, and raises as it does."""
        with self._under(query) as cur:
            return search.search(cur, query)

    def count(self, query: BoardQuery) -> int:
        """How many runs the query chooses, whichever page it asks for."""
        with self._under(query) as cur:
            return search.count(cur, query)

    def run(self, run_id: str) -> RunRow | None:
        """One run, or None when it was not recorded."""
        return self.runs_of([run_id]).get(run_id)

    def asked(self, run_id: str) -> Asked | None:
        """What a run was asked to do; of an imported run only what is known. None when it was not recorded."""
        with self.cursor() as cur:
            return runs.asked_for(cur, [run_id]).get(run_id)

    def runs_of(self, run_ids: Sequence[str]) -> Mapping[str, RunRow]:
        """Those of the runs that were recorded, by their ids."""
        with self.cursor() as cur:
            return {row.run_id: row for row in runs.by_ids(cur, run_ids)}

    def known(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Those of the runs that were recorded."""
        with self.cursor() as cur:
            return runs.known(cur, run_ids)

    def starting_with(self, starts: Sequence[str]) -> frozenset[str]:
        """The ids of recorded runs that begin with one of these texts, which are equally long."""
        with self.cursor() as cur:
            return runs.starting_with(cur, starts)

    def of_jobs(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        """The launched run of each job that one was recorded of, by the job's id."""
        with self.cursor() as cur:
            return runs.of_jobs(cur, job_ids)

    def rank_results(self, run_id: str) -> tuple[RankResult, ...]:
        """The throughput of each card that holds a number, by server and rank."""
        with self.cursor() as cur:
            return runs.rank_results(cur, [run_id]).get(run_id, ())

    def rank_map(self, run_id: str) -> RankMap | None:
        """A run's cards by node, with its stragglers; None when nothing is known of single cards."""
        with self.cursor() as cur:
            return ranks.rank_map(cur, run_id)

    def rank_spreads(self, run_ids: Sequence[str]) -> Mapping[str, RankSpread]:
        """How far the cards of each run lie apart; runs without single cards are left out."""
        with self.cursor() as cur:
            return ranks.spreads(cur, run_ids)

    def servers(self, run_id: str) -> Servers | None:
        """What each server of a single-server run did; None for a cluster's run, and one that was not recorded."""
        with self.cursor() as cur:
            return servers.servers(cur, [run_id]).get(run_id)

    def compare(self, run_ids: Sequence[str], by: ComparedBy = ComparedBy.RUNS) -> Comparison:
        """2 to 8 runs, or rows, against the first. Raises RunNotFound, and SpecError on another number of runs."""
        with self.cursor() as cur:
            return compare.compare(cur, run_ids, by)

    def questions(self, query: BoardQuery) -> QuestionPage:
        """One page of questions whose throughput can be followed over node counts."""
        with self.cursor() as cur:
            return scaling.questions(cur, query)

    def scaling(self, question: ScalingQuestion) -> tuple[Scaling, ...]:
        """Throughput, speed-up and efficiency over node counts: a curve for each version and hardware."""
        with self.cursor() as cur:
            return scaling.scaling(cur, question)

    def scaling_of(self, run_id: str) -> Scaling:
        """The scaling of everything that differs from this run in its node count only. Raises RunNotFound."""
        with self.cursor() as cur:
            return scaling.scaling_of(cur, run_id)

    def curve(self, run: RunRow) -> Scaling:
        """As `scaling_of`, of a run that was already asked for."""
        with self.cursor() as cur:
            return scaling.curve(cur, run)

    def groups(self, query: BoardQuery) -> GroupPage:
        """One page of the groups whose runs can be followed over time, the latest first."""
        with self.cursor() as cur:
            return history.groups(cur, query)

    def history(
        self, row: GroupRow, by: VersionField | None = None, names: Sequence[str] = (), *, include_invalid: bool = False
    ) -> History:
        """One group over time: runs, versions, changes, and the verdict on its newest runs.

        `by` says what a version is, `names` the baseline (versions or run ids) instead of the group's own."""
        with self._connection.moment() as cur:
            return history.history(cur, row, by, names, include_invalid=include_invalid)

    def history_runs(self, query: BoardQuery, row: GroupRow) -> histories.HistoryPage:
        """One page of a group's runs. Raises SpecError on a sort that HISTORY_SORTS does not hold."""
        with self._connection.moment() as cur:
            return history.runs(cur, query, row.group)

    def regressions(self, query: BoardQuery, by: VersionField | None = None, names: Sequence[str] = ()) -> Regressions:
        """The verdicts on the newest runs of every group of the query. Raises RunNotFound when none has `names`."""
        with self._connection.moment() as cur:
            return history.regressions(cur, query, by, names)

    def validate(self, query: BoardQuery) -> verdicts.Validation:
        """Judge every run that the query's filters choose; without a ruleset in it, by the one that records.

        Raises ConfigError and SpecError when there is no such ruleset."""
        with self.cursor() as cur:
            return verdicts.validate(cur, query, self._judge_of(query.ruleset_id))

    def keep_verdicts(self, validation: verdicts.Validation) -> int:
        """Store the verdicts of a validation, as far as they are not stored; returns how many those were."""
        judge = self._judge_of(validation.ruleset_id)
        return verdicts.keep(self._connection, [run.run_id for run in validation.runs if not run.is_stored], judge)

    def mark_baseline(self, run_ids: Sequence[str], field: VersionField | None, who: str, at: datetime) -> Baseline:
        """Make these runs, or with `field` all runs of their versions, their group's baseline.

        Raises RunNotFound, and SpecError unless they are valid runs of one group."""
        return baselines.mark(self._connection, run_ids, field, who, at)

    def unmark_baseline(self, group_id: str) -> bool:
        """Forget a group's baseline; says whether it had one."""
        return baselines.unmark(self._connection, group_id)

    def baselines(self) -> list[Baseline]:
        """Every marked baseline, the oldest mark first."""
        with self.cursor() as cur:
            return list(baselines.by_group(cur).values())

    def export(self, asked: Export, target: IO[bytes]) -> int:
        """Write every run of the query (not only its page) in the asked format; returns the number of rows.

        Columns and formats: docs/export.md. Raises SpecError on more rows than Excel holds."""
        with self._under(asked.query) as cur:
            return export.write(cur, asked, self._judge_of(asked.query.ruleset_id), target, self._rulesets.bases())

    def reported(self, run_ids: Sequence[str], at: datetime, ruleset_id: str = "") -> reported.Reported:
        """All that a report says of these runs; unknown ones are left out."""
        known = next(iter(self.runs_of(run_ids).values()), None) if ruleset_id else None
        kind = BoardQuery(known.region, rehearsal=known.rehearsal, ruleset_id=ruleset_id) if known else BoardQuery("")
        with self._under(kind) as cur:
            return reported.reported(cur, run_ids, at, self._judge_of(ruleset_id), self._rulesets.bases())
