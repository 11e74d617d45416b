"""What an ended run means: whether it failed, regressed, improved or broke a record, as sentences."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import timedelta

from aisbench_core.base.errors import WarehouseError
from aisbench_core.base.formats import format_change, format_number, nodes_and_cards, shorten_hash
from aisbench_core.base.messages import Message, join_parts, message_of
from aisbench_core.domain.statistics.sentences import Side, difference_sentence
from aisbench_core.model import BudgetScope, News, NewsKind, Notice, Run, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.outbox import Outbox
from aisbench_core.store.ledger.schedules import ScheduleLedger
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.boards import describe_hardware
from aisbench_core.warehouse.values.histories import Outcome
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict

_CHANGES = {Outcome.REGRESSION: NewsKind.REGRESSION, Outcome.IMPROVEMENT: NewsKind.IMPROVEMENT}

_TITLES = {
    NewsKind.COMPLETED: Message("Completed"),
    NewsKind.FAILED: Message("Failed"),
    NewsKind.STOPPED: Message("Stopped"),
    NewsKind.STALLED: Message("Stalled"),
    NewsKind.STRAGGLER: Message("Slow cards"),
    NewsKind.ALERT: Message("Needs attention"),
    NewsKind.REGRESSION: Message("Regression"),
    NewsKind.IMPROVEMENT: Message("Improvement"),
    NewsKind.RECORD: Message("Record broken"),
    NewsKind.HELD: Message("Over budget, waiting for approval"),
    NewsKind.SKIPPED: Message("Not launched"),
    NewsKind.SERIES: Message("Scheduled series"),
    NewsKind.BUDGET: Message("Budget alert"),
    NewsKind.HEAD: Message("Head of the audit"),
}


# Their subjects are series, schedules, budgets or an entry of the audit. What is held is a run or a series.
_OF_NO_RUN = (NewsKind.SKIPPED, NewsKind.SERIES, NewsKind.BUDGET, NewsKind.HEAD)


class Newsroom:
    """Makes news of notices, from the ledger and from recorded results."""

    def __init__(self, ledger: Ledger, warehouse: Warehouse, cause_of: Callable[[str], Message | None]) -> None:
        self._ledger = ledger
        self._outbox = Outbox(ledger)
        self._series = SeriesLedger(ledger)
        self._schedules = ScheduleLedger(ledger)
        self._warehouse = warehouse
        self._cause_of = cause_of

    def news_of(self, notice: Notice, wanted: Collection[NewsKind]) -> Iterator[News]:
        """All that a notice means, as far as somebody wants it: verdicts over a region take a moment."""
        kind = NewsKind(notice.kind)
        run = None if kind in _OF_NO_RUN else self._ledger.find(notice.subject)
        row = self._find_row(kind, notice.subject) if run else None
        first = _make_news(self._with_cause(notice, kind), kind, self._find_owner(notice, run), run, row)
        if kind in wanted:
            yield first
        if run is None or row is None or run.state is not RunState.COMPLETED:
            return
        if {NewsKind.REGRESSION, NewsKind.IMPROVEMENT} & {*wanted}:
            yield from self._iterate_changes(first, row, wanted)
        if NewsKind.RECORD in wanted:
            yield from self._iterate_records(first, row)

    def _with_cause(self, notice: Notice, kind: NewsKind) -> Notice:
        cause = self._cause_of(notice.subject) if kind is NewsKind.FAILED else None
        return (
            replace(notice, text=join_parts(": ", [part for part in (cause, notice.text) if part])) if cause else notice
        )

    def _find_owner(self, notice: Notice, run: Run | None) -> tuple[str, str]:
        """Workload and person of a run, a series, a schedule or a budget, by which channels filter."""
        if run:
            return run.spec.workload, run.created_by
        subject = notice.subject
        if notice.kind == NewsKind.BUDGET:
            scope, _, subject = subject.partition(" ")
            if scope != BudgetScope.SERIES:
                return "", subject if scope == BudgetScope.PERSON else ""
        for schedule in self._schedules.all() if notice.kind == NewsKind.SKIPPED else ():
            if schedule.name == notice.subject:
                return schedule.plan.spec.workload, schedule.owner
        for series in self._series.of([subject]):
            return series.plan.spec.workload, series.created_by
        return "", ""

    def _find_row(self, kind: NewsKind, run_id: str) -> RunRow | None:
        try:
            return self._warehouse.runs.find_row(run_id)
        except WarehouseError:
            if kind is NewsKind.COMPLETED:
                raise  # its result is what people want to know, and is there soon
            return None

    def _iterate_changes(self, ended: News, row: RunRow, wanted: Collection[NewsKind]) -> Iterator[News]:
        # Of the whole region, as on Home: the verdicts are adjusted for the number of all tests.
        found = self._warehouse.trends.list_verdicts(BoardQuery(row.region, rehearsal=row.rehearsal))
        for group in found.groups:
            kind = _CHANGES.get(group.verdict.outcome)
            if kind in wanted and kind and row.run_id in group.verdict.candidate_run_ids:
                # One message per change, not one for each run that confirms it.
                since = group.verdict.decisive.since if group.verdict.decisive else ""
                change = since or group.verdict.candidate
                if not self._is_known_by_first_id(kind, group, change):
                    yield _replace_text(ended, f"{kind}:{group.row.group.id}:{change}", kind, _change_text(group, row))

    def _is_known_by_first_id(self, kind: NewsKind, group: TrendVerdict, change: str) -> bool:
        """Whether it was told under the id that the group had by the first formula of fingerprints."""
        earlier = self._warehouse.trends.find_first_ids([group.row])
        return any(self._outbox.has_announced(f"{kind}:{trend_id}:{change}") for trend_id in earlier)

    def _iterate_records(self, ended: News, row: RunRow) -> Iterator[News]:
        if row.ended_at is None:
            return
        since = row.ended_at - timedelta(milliseconds=1)
        activity = self._warehouse.board.summarize_activity(BoardQuery(row.region, rehearsal=row.rehearsal), since)
        for record in activity.records:
            if record.run_id == row.run_id:
                rate, change = format_number(record.throughput, row.throughput_unit), format_change(record.change, 1)
                text = Message("{throughput}, {change} above the record before", throughput=rate, change=change)
                text = join_parts(": ", [row.run_id, _describe_row(row), text])
                yield _replace_text(ended, f"{NewsKind.RECORD}:{row.run_id}", NewsKind.RECORD, text)


def _make_news(notice: Notice, kind: NewsKind, owned: tuple[str, str], run: Run | None, row: RunRow | None) -> News:
    workload, person = owned
    facts = {
        "workload": workload, "person": person,
        "region": row.region if row else "", "rehearsal": bool(row and row.rehearsal),
        "model": row.model if row else "", "version": row.framework_version if row else "",
        "flavor": row.flavor if row else "", "nodes": str(row.node_count or "") if row else "",
        "tags": list(row.tags) if row else [],
    }  # fmt: skip
    return News(notice.notice_id, kind, notice.subject, notice.at, _TITLES[kind], _make_text(notice, run, row), facts)


def _make_text(notice: Notice, run: Run | None, row: RunRow | None) -> Message:
    if notice.kind in (NewsKind.BUDGET, NewsKind.HEAD):
        return message_of(notice.text)  # names whose budget it is, or the entry
    if run is None:
        return join_parts(": ", [notice.subject, notice.text])
    what = _describe_row(row) if row else run.spec.workload
    if notice.kind == NewsKind.COMPLETED and row and row.throughput is not None:
        rate = format_number(row.throughput, row.throughput_unit)
        missed = [Message("target accuracy missed")] if row.target_outcome.is_missed else []
        return join_parts(": ", [run.run_id, what, rate, *missed])
    if notice.text:
        return join_parts(": ", [run.run_id, what, notice.text])
    return join_parts(": ", [run.run_id, what])


def _describe_row(row: RunRow) -> str:
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    return " ".join(filter(None, (row.model or row.workload, row.framework_version, size, describe_hardware(row))))


def _replace_text(ended: News, news_id: str, kind: NewsKind, text: Message) -> News:
    return replace(ended, news_id=news_id, kind=kind, title=_TITLES[kind], text=text)


def _change_text(group: TrendVerdict, row: RunRow) -> Message:
    found, metric = group.verdict, group.verdict.decisive
    gap = metric.difference if metric else None
    if metric is None or gap is None or metric.baseline is None or metric.candidate is None:
        return join_parts(": ", [row.run_id, _describe_row(row)])
    values = {"metric": metric.name, "change": format_change(gap.change, 1), "since": metric.since}
    versions = [shorten_hash(name) for name in (found.candidate, found.baseline)]
    if metric.name == "throughput" and metric in found.metrics and len(set(versions)) == 2:
        system = f"{nodes_and_cards(row.node_count, row.cards_per_node)} {describe_hardware(row)}"
        counts = (metric.candidate.count, metric.baseline.count)
        new, old = (Side(version, version, system, count) for version, count in zip(versions, counts, strict=True))
        return join_parts(": ", [row.run_id, difference_sentence(gap, new, old)])
    return join_parts(
        ": ", [row.run_id, _describe_row(row), Message("{metric} changed by {change} since {since}", **values)]
    )
