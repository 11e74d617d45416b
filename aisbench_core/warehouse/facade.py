"""The results warehouse as the console and the command line see it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change, note_values
from aisbench_core.domain.rulesets.ruleset import DEFAULT, Rulesets
from aisbench_core.model import Actor, RunRecord
from aisbench_core.warehouse.answers import by_noun
from aisbench_core.warehouse.answers.spending import StoredSpending
from aisbench_core.warehouse.exporting import export, reported
from aisbench_core.warehouse.exporting.publication import Publication
from aisbench_core.warehouse.maintenance import integrity, moving, snapshots
from aisbench_core.warehouse.queries.metric_overlay import overlay_metric
from aisbench_core.warehouse.records import baselines, record
from aisbench_core.warehouse.records.annotations import StoredAnnotations
from aisbench_core.warehouse.records.imports import Imports
from aisbench_core.warehouse.records.inference_results import InferenceResults
from aisbench_core.warehouse.records.recorder import Recorder
from aisbench_core.warehouse.records.saved_views import SavedViews
from aisbench_core.warehouse.records.stored_series import StoredSeries
from aisbench_core.warehouse.store.engine import PATIENCE_S
from aisbench_core.warehouse.store.file_store import FileStore
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.tables.store import Compacted, Progress, Store, no_progress
from aisbench_core.warehouse.validity import validation
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.exports import Export, OnRows, ignore_rows
from aisbench_core.warehouse.values.histories import Baseline, VersionField
from aisbench_core.warehouse.values.runs import PRIMARY, BoardQuery


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
        self.board = by_noun.BoardAnswers(self._store, self._open_moment)
        self.runs = by_noun.RunAnswers(self._store, self._open_moment)
        self.cards = by_noun.CardAnswers(self._store, self._open_moment)
        self.facets = by_noun.FacetAnswers(self._store, self._open_moment)
        self.scaling = by_noun.ScalingAnswers(self._store, self._open_moment)
        self.trends = by_noun.TrendAnswers(self._store, self._open_moment)
        self.record = Recorder(self._store, self._evaluator).record
        self.annotations = StoredAnnotations(self._store)
        self.saved_views = SavedViews(self._store)
        self.inference = InferenceResults(self._store)
        self.spending = StoredSpending(self._store)
        self.imports = Imports(self._store, self._evaluator)
        self.series = StoredSeries(self._store, self._evaluator_of, self._open_moment)

    def cursor(self) -> AbstractContextManager[DuckDBPyConnection]:
        """A cursor for a moment, one per thread at a time."""
        return self._store.cursor()

    @contextmanager
    def _open_moment(self, query: BoardQuery) -> Iterator[DuckDBPyConnection]:
        """A cursor in a transaction that sees the validity by the query's ruleset."""
        evaluator = self._evaluator_of(query.ruleset_id) if query.ruleset_id else None
        with self._store.moment() as cur:
            if evaluator:
                validation.overlay(cur, query, evaluator)
            overlay_metric(cur, query.metric)
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
        with self._store.cursor() as cur:
            return record.has_same_hash(cur, run_record, self._evaluator)

    def agrees(self, run_record: RunRecord) -> bool:
        """Whether what is stored of a run was launched and measured as in this record, as far as both know it."""
        with self._store.cursor() as cur:
            return record.has_same_measurements(cur, run_record, self._evaluator)

    def move_to(self, target: "Warehouse", on_progress: Progress) -> moving.Moved:
        """Copy everything into another warehouse, and compare. Can be repeated."""
        return moving.move(self._store, target._store, on_progress)

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

    def validate(self, query: BoardQuery) -> validation.Validation:
        """Evaluate every run that the query chooses; without a ruleset in it, by the one used for recording.

        Raises ConfigError and SpecError if the ruleset cannot be used."""
        with self._store.cursor() as cur:
            return validation.validate(cur, query, self._evaluator_of(query.ruleset_id))

    @permitted
    def store_evaluations(self, result: validation.Validation, actor: Actor) -> int:
        """Store the evaluations that differ from the stored ones; returns how many."""
        log_change(actor, f"store validity by ruleset {result.ruleset_id}")
        note_values("", result.statement)
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

    def export(self, request: Export, target: IO[bytes], on_rows: OnRows = ignore_rows) -> int:
        """Write every run of the query, not only of its page; returns the number of rows. See docs/export.md.

        `on_rows` is called with the number of rows in a workbook so far.

        Raises SpecError if there are more rows than Excel can have."""
        evaluator = self._evaluator_of(request.query.ruleset_id)
        with self._open_moment(request.query) as cur:
            return export.write(cur, request, evaluator, target, self._rulesets.bases(), on_rows=on_rows)

    def write_tables(
        self, run_ids: Sequence[str], at: datetime, runs: IO[bytes], groups: IO[bytes], audit_head: str
    ) -> dict[str, str]:
        """Write the exports of these runs, and of the statistics over them, as CSV; `audit_head`: as in Export.

        Returns the runs that failed early, each with a run of the row that counts it."""
        with self._store.moment() as cur:
            evaluator, bases = self._evaluator, self._rulesets.bases()
            return reported.write_tables(
                cur, run_ids, at.astimezone(UTC).replace(microsecond=0), evaluator, bases, runs, groups, audit_head
            )

    @contextmanager
    def open_publication(self, query: BoardQuery) -> Iterator[Publication]:
        """What is published of the query's leaderboard, at one moment. Raises SpecError on rehearsals."""
        with self._open_moment(replace(query, metric=query.metric or PRIMARY)) as cur:
            yield Publication(cur, query, self._rulesets.bases())

    def fetch_reported(self, run_ids: Sequence[str], at: datetime, ruleset_id: str = "") -> reported.Reported:
        """The content of a report about these runs; those that do not exist are left out."""
        run = next(iter(self.runs.find_rows(run_ids).values()), None) if ruleset_id else None
        query = BoardQuery(run.region, rehearsal=run.rehearsal, ruleset_id=ruleset_id) if run else BoardQuery("")
        with self._open_moment(query) as cur:
            return reported.fetch_reported(cur, run_ids, at, self._evaluator_of(ruleset_id), self._rulesets.bases())
