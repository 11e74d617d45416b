"""The audit in the ledger's file: entries are appended, chained by hashes, and read with filters."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.audit_entry import Act, ActOutcome, AuditEntry, clip_audit_text
from aisbench_core.model import Actor, Clock, WayIn
from aisbench_core.store.audit.audit_heads import AuditHead, AuditHeads
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

LOG = logging.getLogger(__name__)

RETENTION = "audit.expire"

# Consoles of several machines append, and clocks are corrected by seconds.
CLOCKS_DIFFER = timedelta(minutes=1)

# Entries are removed a day's worth at a time, because each removal is itself an entry.
EXPIRE_EVERY = timedelta(days=1)


class AuditChanged(AisbenchError):
    """Entries of the audit were changed, removed or added by something else than the core."""


class AuditCut(AuditChanged):
    """The audit lacks an entry that was in it."""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Filters; empty ones let everything through. `change` and `object` are matched by their beginning.

    `excluded`: changes that begin so are left out."""

    who: str = ""
    change: str = ""
    object: str = ""
    via: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None
    excluded: str = ""


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """A verified chain: its number of entries, its last hash, and the number of that entry, which counts those that
    retention removed, too. Noted elsewhere, number and hash prove that none is missing.

    `set_back`: the number of the first entry that is older than the one before it by more than clocks differ; 0: none.
    Clocks are set back honestly, too, so that is no damage."""

    entries: int
    last_hash: str
    last_number: int = 0
    set_back: int = 0


class Audit:
    """Who changed what. Threads and processes may share it."""

    def __init__(self, ledger: Ledger, keep_days: int, clock: Clock, heads: AuditHeads) -> None:
        """`keep_days`: 0 keeps entries for ever. `heads`: where the newest entry is noted outside of the ledger."""
        self._ledger = ledger
        self._keep_days = keep_days
        self._clock = clock
        self._heads = heads

    def record(self, act: Act) -> None:
        """Append an entry."""
        self._remove_old()
        with self._ledger.transaction() as con:
            head = self.append(con, [act])
        self.store_head(head)

    def append(self, con: LedgerConnection, acts: Sequence[Act]) -> AuditHead:
        """Append entries, one at least, within a transaction; returns the newest, for `store_head` after it."""
        *_, head = [_append_entry(con, act, self._clock()) for act in acts]
        return head

    def store_head(self, head: AuditHead) -> None:
        """Note the newest entry outside of the ledger, unless the audit lacks what is noted there: that stays then, so
        that verifying finds it. An error is logged: an older head is no false alarm."""
        try:
            noted = self._heads.read()
            if noted:
                with self._ledger.connection() as con:
                    gap = self._find_gap(con, noted)
                if gap:
                    raise gap
            if noted is None or noted.number < head.number:
                self._heads.write(head)
        except (AisbenchError, OSError) as error:
            LOG.error("the newest entry of the audit was not noted: %s", error)  # noqa: TRY400  # ours need no traceback

    @permitted
    def entries(self, query: AuditQuery, actor: Actor, limit: int = 50, offset: int = 0) -> list[AuditEntry]:  # noqa: ARG002  # the guard's
        """A page of entries, newest first."""
        where, values = _build_filter(query)
        sql = f"select * from audit where {where} order by number desc limit ? offset ?"  # noqa: S608  # only ? marks
        return [_entry_of(row) for row in self._ledger.rows(sql, [*values, limit, offset])]

    @permitted
    def count(self, query: AuditQuery, actor: Actor) -> int:  # noqa: ARG002  # the guard's
        """The number of entries that the filters let through."""
        where, values = _build_filter(query)
        return int(self._ledger.rows(f"select count(*) from audit where {where}", values)[0][0])  # noqa: S608  # only ? marks

    def last_done(self, change: str) -> AuditEntry | None:
        """The newest entry about this change that was done; None without one."""
        query = "select * from audit where change = ? and outcome = 'done' order by number desc limit 1"
        return next(map(_entry_of, self._ledger.rows(query, [change])), None)

    @permitted
    def verify(self, actor: Actor, noted: AuditHead | None = None) -> AuditCheck:  # noqa: ARG002  # the guard's
        """Compute every hash again, and find the head that this console saw, and `noted`, which was stored elsewhere.

        Raises AuditChanged with the first entry that differs, and AuditCut with what is missing."""
        seen = self._heads.read()  # before the snapshot, which may be older than what others note meanwhile
        with self._ledger.snapshot() as con:
            check = verify_entries(con)
            for head in (seen, noted):
                if head and (gap := self._find_gap(con, head)):
                    raise gap
            newest = newest_entry(con)
        if newest and (seen is None or seen.number < newest.number):
            self.store_head(newest)
        return check

    def _find_gap(self, con: LedgerConnection, head: AuditHead) -> AuditCut | None:
        """What is missing if the audit does not contain this head; None if it does, or retention has removed it."""
        found = con.execute("select at, hash from audit where number = ?", [head.number]).fetchone()
        if found and found["hash"] == head.hash:
            return None
        first, newest = (_entry_at(con, order) for order in ("asc", "desc"))
        limit = self._clock() - timedelta(days=self._keep_days)
        if first and head.number < first.number and self._keep_days and (head.at is None or head.at <= limit):
            return None
        if first and head.number < first.number and (removal := _last_removal(con)):
            return _describe_expiry(head, removal, self._heads)
        return _describe_cut(head, newest, self._heads)

    def _remove_old(self) -> None:
        """Remove entries that are older than the setting says. An error is logged, and the next entry still stored."""
        if not self._keep_days:
            return
        limit = self._clock() - timedelta(days=self._keep_days)
        try:
            with self._ledger.connection() as con:
                is_due = _is_due(con, limit)
            if is_due:
                with self._ledger.transaction() as con:
                    _expire_entries(con, limit, self._clock())
        except AisbenchError as error:
            LOG.warning("old entries of the audit were not removed: %s", error)


def _is_due(con: LedgerConnection, limit: datetime) -> bool:
    oldest = con.execute("select at from audit order by number limit 1").fetchone()
    return oldest is not None and as_time(oldest["at"]) <= limit - EXPIRE_EVERY


def _expire_entries(con: LedgerConnection, limit: datetime, now: datetime) -> None:
    """Append what is removed, then remove it: so the chain goes on even if nothing else is left."""
    if not _is_due(con, limit):  # another process was quicker
        return
    old = con.execute("select number, hash from audit where at < ? order by number", [as_text(limit)]).fetchall()
    act = Act("aisbench", "", WayIn.FOLLOWER, RETENTION, f"{len(old)} entries", ActOutcome.DONE, old[-1]["hash"])
    _append_entry(con, act, now)
    # One by one, because a database may take the rows of one statement in any order, and only the oldest may go.
    con.executemany("delete from audit where number = ?", [[row["number"]] for row in old])


def verify_entries(con: LedgerConnection) -> AuditCheck:
    """Compute every hash of a ledger's audit again. Raises AuditChanged with the first entry that differs."""
    count, number, last, removed = 0, 0, "", _last_removed(con)
    at, set_back = None, 0
    for entry in _iterate_entries(con):
        expected = last if count else removed
        if entry.previous != expected or not entry.is_intact:
            raise _make_change_error(entry.number, entry.at)
        if not set_back and at and at - entry.at > CLOCKS_DIFFER:
            set_back = entry.number
        count, number, last, at = count + 1, entry.number, entry.hash, entry.at
    return AuditCheck(count, last, number, set_back)


def read_segment(con: LedgerConnection, objects: Collection[str], last: int) -> dict[str, object]:
    """The entries from the first one about these objects to number `last`: the hash of each, and of those about them
    time and act, too. Raises AuditChanged with one that differs."""
    marks = ", ".join("?" * len(objects))
    about = f"select * from audit where object in ({marks}) and number <= ?"  # noqa: S608  # only ? marks
    entries = {row["number"]: _entry_of(row) for row in con.execute(about, [*objects, last])}
    first = min(entries, default=last)
    span = "select number, at, hash, previous from audit where number between ? and ? order by number"
    links, segment = con.execute(span, [first, last]).fetchall(), list[list[object]]()
    previous = links[0]["previous"]
    for link in links:
        entry = entries.get(link["number"])
        if link["previous"] != previous or (entry and not entry.is_intact):
            raise _make_change_error(link["number"], as_time(link["at"]))
        previous = link["hash"]
        told = [entry.at.astimezone(UTC).isoformat(), asdict(entry.act)] if entry else []
        segment.append([previous, *told])
    return {"first": first, "previous": links[0]["previous"], "segment": segment}


def newest_entry(con: LedgerConnection) -> AuditHead | None:
    """The head of a ledger's audit; None while it is empty."""
    return _entry_at(con, "desc")


def _entry_at(con: LedgerConnection, order: str) -> AuditHead | None:
    """The first entry in this order of numbers."""
    row = con.execute(f"select number, hash, at from audit order by number {order} limit 1").fetchone()  # noqa: S608  # asc or desc
    return AuditHead(row["number"], row["hash"], as_time(row["at"])) if row else None


def _append_entry(con: LedgerConnection, act: Act, at: datetime) -> AuditHead:
    last = con.execute("select number, hash from audit order by number desc limit 1").fetchone()
    number, previous = (last["number"] + 1, last["hash"]) if last else (1, "")
    texts = {name: clip_audit_text(text) for name, text in asdict(act).items()}
    entry = AuditEntry(number, as_time(as_text(at)), _act_of(texts), previous)
    entry = replace(entry, hash=entry.expected_hash())
    insert_row(con, "audit", _row_of(entry))
    return AuditHead(entry.number, entry.hash, entry.at)


def _last_removed(con: LedgerConnection) -> str:
    """The hash of the last entry that retention removed: what the first one that is left follows."""
    removal = _last_removal(con)
    return removal.act.before if removal else ""


def _last_removal(con: LedgerConnection) -> AuditEntry | None:
    """The entry about what retention removed last."""
    row = con.execute("select * from audit where change = ? order by number desc limit 1", [RETENTION]).fetchone()
    return _entry_of(row) if row else None


def _iterate_entries(con: LedgerConnection) -> Iterator[AuditEntry]:
    for row in con.execute("select * from audit order by number"):
        yield _entry_of(row)


def _make_change_error(number: int, at: datetime) -> AuditChanged:
    return AuditChanged(
        Message("the audit was changed: entry {number} of {at} does not follow the one before it",
                number=number, at=f"{at:%Y-%m-%d %H:%M:%S %Z}"),
        Message("compare it with a backup of the ledger; entries before it are unchanged"),
    )  # fmt: skip


def _describe_cut(head: AuditHead, newest: AuditHead | None, heads: AuditHeads) -> AuditCut:
    """What is missing: everything after the newest entry, or, if the chain has got longer since, all up to the head."""
    hint = Message(
        "restore the ledger from a backup; if it was replaced on purpose, delete {file}",
        file=heads.file,
    )
    at = _format_time(head)
    if newest is None:
        return AuditCut(Message("the audit is empty, but it had {number} entries{at}", number=head.number, at=at), hint)
    if newest.number < head.number:
        return AuditCut(
            Message(
                "the audit was cut: it ends with entry {last} of {since}; entries {first} to {number}{at} are missing",
                last=newest.number, since=f"{newest.at:%Y-%m-%d %H:%M:%S %Z}", first=newest.number + 1,
                number=head.number, at=at,
            ),
            hint,
        )  # fmt: skip
    return AuditCut(
        Message(
            "the audit was replaced: its entry {number} is not the one that was there{at}", number=head.number, at=at
        ),
        hint,
    )


def _describe_expiry(head: AuditHead, removal: AuditEntry, heads: AuditHeads) -> AuditCut:
    """What is missing if the retention of a console that keeps entries for a shorter time has removed the head."""
    return AuditCut(
        Message(
            "entry {number}{at}, the newest one noted here, was deleted by the retention of another console, last on"
            " {time}",
            number=head.number, at=_format_time(head), time=f"{removal.at:%Y-%m-%d %H:%M:%S %Z}",
        ),
        Message(
            "set keep_audit_days to what that console has; if it was removed on purpose, delete {file}", file=heads.file
        ),
    )  # fmt: skip


def _format_time(head: AuditHead) -> str:
    return f" ({head.at:%Y-%m-%d %H:%M:%S %Z})" if head.at else ""


def _row_of(entry: AuditEntry) -> dict[str, object]:
    chain = {"number": entry.number, "at": as_text(entry.at), "previous": entry.previous, "hash": entry.hash}
    return chain | asdict(entry.act)


def _entry_of(row: Row) -> AuditEntry:
    act = _act_of({name: row[name] for name in Act.__dataclass_fields__})
    return AuditEntry(row["number"], as_time(row["at"]), act, row["previous"], row["hash"])


def _act_of(texts: Mapping[str, str]) -> Act:
    return Act(
        outcome=ActOutcome(texts["outcome"]), **{name: text for name, text in texts.items() if name != "outcome"}
    )


def _build_filter(query: AuditQuery) -> tuple[str, list[object]]:
    equal = {"who": query.who, "via": query.via, "outcome": query.outcome}
    begins = {"change": query.change, "object": query.object}
    parts: list[tuple[str, object]] = [(f"{name} = ?", value) for name, value in equal.items() if value]
    parts += [(f"substr({name}, 1, {len(value)}) = ?", value) for name, value in begins.items() if value]
    parts += [(f"substr(change, 1, {len(query.excluded)}) <> ?", query.excluded)] if query.excluded else []
    times = (("at >= ?", query.since), ("at < ?", query.until))
    parts += [(sql, as_text(time)) for sql, time in times if time]
    return " and ".join(sql for sql, _ in parts) or "1 = 1", [value for _, value in parts]
