"""Runs as rows of a table, the same on every page that lists them: state, result, change, and why a run failed."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import (
    format_change,
    format_duration,
    format_estimate,
    format_number,
    format_percent,
    nodes_and_cards,
)
from aisbench_core.model import AlertKind, Run, RunSpec, RunState
from aisbench_core.model.annotation import PINNED
from aisbench_core.store.ledger.deletions import Deletion
from aisbench_core.warehouse.values.boards import describe_hardware
from aisbench_core.warehouse.values.histories import Outcome, RegressionVerdict, Trend
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow, TargetOutcome, Validity
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import alert_kind, describe_silence
from pages._ui.grid.column_choice import choose_columns
from pages._ui.grid.sorting import Sorting
from pages._ui.grid.values import Align, CellPart, Dot, GridCell, GridColumn, GridRow, PageLink, Tone
from pages._ui.runs.target import target_text
from pages._ui.runs.validity import join_reasons
from pages._ui.shell.core import core, ledger_answer, run_cached
from pages._ui.shell.formats import format_age, format_time
from pages._ui.shell.navigation import COLUMNS, LIVE
from pages._ui.shell.tables import without_prefix
from pages._ui.shell.words import t

DEFAULT = ("run", "size", "throughput", "change", "accuracy", "duration", "by", "launched", "status")
# Which a reader may add.
ADDED = ("model", "version", "hardware", "per_card", "workload", "data", "profile", "origin", "ended", "id", "checks")

NAME_WIDTH = 250  # pixels

# Every other state is on its way.
TONES = {
    RunState.COMPLETED: Tone.GOOD,
    RunState.FAILED: Tone.BAD,
    RunState.STOPPED: Tone.MUTED,
    RunState.STOPPING: Tone.WARN,
    RunState.HELD: Tone.WARN,
}
VALIDITIES = {Validity.INVALID: Tone.BAD, Validity.INCOMPLETE: Tone.WARN, Validity.SET_ASIDE: Tone.MUTED}
OUTCOMES = {Outcome.REGRESSION: Tone.BAD, Outcome.IMPROVEMENT: Tone.GOOD}

Verdicts = Mapping[Trend, RegressionVerdict]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as the ledger has it, or as the warehouse has it where nothing else is known of it."""

    known: Run | RunRow
    name: str
    recorded: RunRow | None = None
    tags: tuple[str, ...] = ()
    deletion: Deletion | None = None

    @property
    def run(self) -> Run | None:
        """As the ledger has it."""
        return self.known if isinstance(self.known, Run) else None

    @property
    def run_id(self) -> str:
        return self.known.run_id

    @property
    def size(self) -> str:
        described = self.described
        return nodes_and_cards(described.node_count, described.cards_per_node)

    @property
    def described(self) -> RunSpec | RunRow:
        """What has its workload, version and size."""
        return self.known.spec if isinstance(self.known, Run) else self.known


def choose_run_columns(usual: Sequence[str] = DEFAULT, parameter: str = COLUMNS) -> list[str]:
    """The keys of the columns that the URL names in this parameter, behind a button, or the usual ones."""
    first, *default = usual
    offered = [key for key in dict.fromkeys((*usual, *DEFAULT, *ADDED)) if key != first]
    return [first, *choose_columns(offered, default, lambda key: t(f"run_rows.{key}"), parameter)]


def list_columns(runs: Sequence[ListedRun], keys: Sequence[str]) -> list[GridColumn]:
    """The columns of a table of these runs; one unit of all of them stands in its head."""
    unit = _shared_unit(runs)
    columns = {
        "run": GridColumn("run", t("run_rows.run"), width=NAME_WIDTH),
        "size": GridColumn("size", t("run_rows.size"), sort="node_count"),
        "throughput": GridColumn("throughput", unit or t("run_rows.throughput"), Align.RIGHT, sort="throughput"),
        "per_card": GridColumn("per_card", t("run_rows.per_card"), Align.RIGHT, sort="per_card"),
        "change": GridColumn("change", t("run_rows.change"), Align.RIGHT, hint=t("run_rows.change_help")),
        "accuracy": GridColumn("accuracy", t("run_rows.accuracy"), sort="accuracy"),
        "duration": GridColumn("duration", t("run_rows.duration"), Align.RIGHT, sort="duration_s"),
        "by": GridColumn("by", t("run_rows.by"), sort="created_by", width=120),
        "launched": GridColumn("launched", t("run_rows.launched"), Align.RIGHT, sort="created_at"),
        "status": GridColumn("status", t("run_rows.status"), sort="state", fills=True),
        "workload": GridColumn("workload", t("run_rows.workload"), sort="workload", width=180),
        "model": GridColumn("model", t("run_rows.model"), sort="model", width=160),
        "version": GridColumn("version", t("run_rows.version"), sort="framework_version", width=180),
        "hardware": GridColumn("hardware", t("run_rows.hardware"), sort="flavor", width=180),
        "data": GridColumn("data", t("run_rows.data"), width=140),
        "origin": GridColumn("origin", t("run_rows.origin")),
        "checks": GridColumn("checks", t("run_rows.checks"), width=260),
        "profile": GridColumn("profile", t("run_rows.profile"), width=140),
        "ended": GridColumn("ended", t("run_rows.ended"), Align.RIGHT, sort="ended_at"),
        "id": GridColumn("id", t("run_rows.id"), sort="run_id"),
    }
    return [columns[key] for key in keys]


def build_rows(runs: Sequence[ListedRun], keys: Sequence[str], *, marks_rehearsals: bool = True) -> list[GridRow]:
    """A row for each run; it opens the run's page. Rehearsals are marked unless the page says that all of them are."""
    verdicts = _find_verdicts(run.recorded for run in runs if run.recorded) if "change" in keys else {}
    has_unit = not _shared_unit(runs)
    builders: Mapping[str, Callable[[ListedRun], GridCell]] = {
        "run": partial(_name_cell, marks_rehearsals=marks_rehearsals),
        "size": lambda run: GridCell(run.size, Tone.MUTED),
        "throughput": lambda run: _throughput_cell(run.recorded, has_unit=has_unit),
        "per_card": lambda run: _per_card_cell(run.recorded),
        "change": lambda run: _change_cell(run.recorded, verdicts),
        "accuracy": lambda run: _accuracy_cell(run.recorded),
        "duration": lambda run: _duration_cell(run.known.duration_s),
        "by": lambda run: GridCell(run.known.created_by, Tone.MUTED),
        "launched": lambda run: _time_cell(run.known.created_at),
        "status": _status_cell,
        "workload": lambda run: GridCell(run.described.workload),
        "version": lambda run: GridCell(run.described.framework_version),
        "hardware": lambda run: GridCell(shorts[_hardware_of(run)], Tone.MUTED, title=_hardware_of(run)),
        "model": lambda run: GridCell(run.recorded.model if run.recorded else ""),
        "data": lambda run: GridCell(_data_of(run.recorded) if run.recorded else "", Tone.MUTED),
        "origin": lambda run: GridCell(t(f"origin.{run.recorded.origin}") if run.recorded else "", Tone.MUTED),
        "checks": lambda run: GridCell(join_reasons(run.recorded) if run.recorded else "", Tone.MUTED),
        "profile": lambda run: GridCell(run.known.profile, Tone.MUTED),
        "ended": lambda run: _time_cell(run.known.ended_at) if run.known.ended_at else GridCell(),
        "id": lambda run: GridCell(run.run_id, Tone.MUTED),
    }
    flavors = [_hardware_of(run) for run in runs]
    shorts = dict(zip(flavors, without_prefix(flavors), strict=True))
    return [
        GridRow(
            run.run_id,
            " ".join(dict.fromkeys((run.name, run.run_id))),
            {key: builders[key](run) for key in keys},
            PageLink(LIVE, {"run": run.run_id}),
        )
        for run in runs
    ]


def sort_records(rows: Sequence[RunRow], sorting: Sorting[str]) -> list[RunRow]:
    """Rows that are all on the page, in the order that its URL names; those without a value come last."""
    valued = [row for row in rows if getattr(row, sorting.by) is not None]
    valued.sort(key=lambda row: getattr(row, sorting.by), reverse=sorting.is_descending)
    return [*valued, *(row for row in rows if getattr(row, sorting.by) is None)]


def _name_cell(run: ListedRun, *, marks_rehearsals: bool) -> GridCell:
    # The size has a column of its own.
    short = " ".join(run.name.replace(run.size, " ").split())
    is_marked = marks_rehearsals and run.recorded and run.recorded.rehearsal
    mark = (t("run_rows.rehearsal"),) if is_marked else ()
    star = (CellPart("★", Tone.WARN, name=t("pin.mark")),) if PINNED in run.tags else ()
    named = [tag for tag in (*mark, *run.tags) if tag != PINNED]
    tags = (*star, *(CellPart(tag, Tone.MUTED, is_badge=True) for tag in named))
    dot = Dot(TONES.get(run.known.state, Tone.INFO), t(f"state.{run.known.state}"))
    return GridCell(
        short, dot=dot, parts=tags, is_strong=True, title=" · ".join(dict.fromkeys((run.name, run.run_id, *run.tags)))
    )


def _shared_unit(runs: Sequence[ListedRun]) -> str:
    """The unit of all throughputs, for the head; empty where they differ."""
    units = {run.recorded.throughput_unit for run in runs if run.recorded and run.recorded.throughput is not None}
    return t.unit(units.pop()) if len(units) == 1 else ""


def _throughput_cell(row: RunRow | None, *, has_unit: bool) -> GridCell:
    if row is None or row.throughput is None:
        return GridCell()
    tone = Tone.PLAIN if row.validity.counts else Tone.MUTED
    return GridCell(format_number(row.throughput), tone, unit=t.unit(row.throughput_unit) if has_unit else "")


def _per_card_cell(row: RunRow | None) -> GridCell:
    return GridCell(format_number(row.per_card), Tone.MUTED) if row and row.per_card is not None else GridCell()


def _change_cell(row: RunRow | None, verdicts: Verdicts) -> GridCell:
    verdict = verdicts.get(Trend.of(row)) if row else None
    change = verdict.compare_throughput(row) if verdict and row else None
    if verdict is None or row is None or change is None:
        return GridCell()
    is_candidate = row.run_id in verdict.candidate_run_ids
    metric = verdict.throughput
    tone = OUTCOMES.get(metric.outcome, Tone.MUTED) if metric and is_candidate else Tone.MUTED
    return GridCell(format_change(change, 1), tone, title=verdict.baseline)


def _accuracy_cell(row: RunRow | None) -> GridCell:
    if row is None or row.accuracy is None:
        return GridCell()
    text, outcome = f"{100 * row.accuracy:.1f} %", row.target_outcome
    if outcome is TargetOutcome.REACHED:
        return GridCell(text, parts=(CellPart("✓", Tone.GOOD, name=target_text(row)),))
    if outcome is not TargetOutcome.MISSED:
        return GridCell(text, title=target_text(row))
    target = f"✗ {format_percent(row.accuracy_target)}" if row.accuracy_target is not None else "✗"
    return GridCell(text, Tone.BAD, parts=(CellPart(target, Tone.BAD, name=f"{target_text(row)} {target}"),))


def _duration_cell(seconds: float | None) -> GridCell:
    """To a tenth of a second: what a run took is not known better."""
    return GridCell(format_duration(round(seconds, 1)), Tone.MUTED) if seconds is not None else GridCell()


def _time_cell(at: datetime) -> GridCell:
    return GridCell(format_age(at, core().clock()), Tone.MUTED, title=format_time(at))


def _status_cell(run: ListedRun) -> GridCell:
    """Why it was deleted, how far it is, or why it failed or does not count."""
    if run.deletion:
        said = t("delete.short", who=run.deletion.who, reason=run.deletion.reason)
        return GridCell(said, Tone.MUTED, title=f"{format_time(run.deletion.at)} · {said}")
    if run.run and not run.run.state.is_terminal:
        return _active_cell(run.run)
    state = run.known.state
    if state is RunState.FAILED:
        why = (cards.why_failed(run.run) if run.run else t.message(run.known.detail)) or t("state.failed")
        return GridCell(why, Tone.BAD)
    if state is RunState.STOPPED:
        cause = run.known.stop_cause
        return GridCell(t.message(cause.sentence if cause else run.known.detail) or t("state.stopped"), Tone.MUTED)
    validity = run.recorded.validity if run.recorded else Validity.VALID
    if run.recorded and validity in VALIDITIES:
        said, reasons = t(f"validity.{validity}"), join_reasons(run.recorded)
        return GridCell(said, VALIDITIES[validity], parts=(CellPart(reasons, Tone.MUTED),) if reasons else ())
    return GridCell(t(f"validity.{validity}"), Tone.MUTED) if validity is Validity.CLAIMED else GridCell()


def _active_cell(run: Run) -> GridCell:
    """How far it is, or that a step is tried again; that its job is in trouble comes first."""
    detail, kind = t.message(run.detail), alert_kind(run)
    text = t("live.retrying", attempts=run.attempts, detail=detail) if run.is_retrying else _describe_progress(run)
    tone = Tone.WARN if run.is_retrying else Tone.PLAIN
    if kind is None and (silence := describe_silence(run)):
        return GridCell(text, tone, parts=(CellPart(silence, Tone.WARN),))
    if kind is None:
        return GridCell(text, tone, title=" · ".join(dict.fromkeys(filter(None, (text, detail)))))
    is_stall = kind in (AlertKind.HANG, AlertKind.STALLED)
    key = "job.hangs" if is_stall else "job.quiet" if kind is AlertKind.QUIET else "job.restarted"
    return GridCell(t(key), Tone.BAD if is_stall else Tone.WARN, parts=(CellPart(text, tone),))


def _describe_progress(run: Run) -> str:
    progress = ledger_answer(core().ledger.progress, run.run_id)
    snapshot = core().snapshots.of(run, progress) if run.state is RunState.RUNNING else None
    share = snapshot.overview.last.share if snapshot and snapshot.overview.last else None
    if snapshot is None or share is None:
        return cards.describe_line(run, progress)[1]
    left, stage = snapshot.overview.remaining_s, snapshot.overview.last.stage if snapshot.overview.last else ""
    text = " · ".join(filter(None, (format_percent(round(share, 2)), t.stage(stage))))
    return t("run_rows.left", share=text, time=format_estimate(left)) if left is not None else text


def _data_of(row: RunRow) -> str:
    return t("board.synthetic") if row.synthetic_data else row.dataset


def _hardware_of(run: ListedRun) -> str:
    if isinstance(run.known, Run):
        return run.known.spec.flavor or run.known.spec.pool_id
    return describe_hardware(run.known)


def _find_verdicts(rows: Iterable[RunRow]) -> Verdicts:
    """The verdicts on the trends of these rows, by one query for each region."""
    measured: defaultdict[tuple[str, bool], list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.throughput is not None:
            measured[row.region, row.rehearsal].append(row)
    try:
        found = [run_cached(core().warehouse.trends.list_verdicts, _query_of(shown)) for shown in measured.values()]
    except AisbenchError:  # while the warehouse cannot be read, the list is still of use
        return {}
    return {group.row.group: group.verdict for regressions in found for group in regressions.groups}


def _query_of(rows: Sequence[RunRow]) -> BoardQuery:
    """Not of the whole region: each verdict takes 13 ms, and a page has few workloads, flavors and sizes."""
    return BoardQuery(
        rows[0].region,
        rehearsal=rows[0].rehearsal,
        workloads=tuple(sorted({row.workload for row in rows})),
        flavors=tuple(sorted({row.flavor for row in rows})),
        node_counts=tuple(sorted({row.node_count for row in rows if row.node_count is not None})),
    )
