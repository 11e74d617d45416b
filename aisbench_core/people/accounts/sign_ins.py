"""Sessions of people whom an OpenID Connect provider signed in.

The browser has a random id in a cookie, and the ledger has the rest, with a hash in place of the id: what has ended
there opens nothing, whoever still has the cookie, at any console that shares the ledger. A restart ends no session.
"""

import hashlib
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError, SignedOut
from aisbench_core.base.messages import Message
from aisbench_core.people.accounts.identities import Account, Identities
from aisbench_core.people.accounts.people import People
from aisbench_core.people.accounts.sessions import Session, Sessions
from aisbench_core.people.accounts.sign_in_audit import SignInAudit
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

# Use is stored after this part of the idle time, at most so seldom: each time empties what pages have cached.
STORED_PART, STORED_EVERY = 10, timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose a session is; nobody's without a name."""

    name: str = ""
    is_revoked: bool = False


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a sign-in came from, as far as that is known: `browser` is what `browsers.browser_of` says."""

    address: str = ""
    browser: str = ""


NOBODY = Visitor()


class SignIns:
    """The open sessions. Threads and processes may share them."""

    def __init__(
        self, ledger: Ledger, sessions: Sessions, people: People, identities: Identities, audit: SignInAudit
    ) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._people = people
        self._identities = identities
        self._audit = audit
        self._guard = threading.Lock()
        # What the ledger said of an id, for as long as the ledger does not change: every request asks.
        self._read: dict[str, Session] = {}
        self._revision: str | None = None

    def __len__(self) -> int:
        """How many sessions are stored."""
        return int(self._ledger.rows("select count(*) as stored from sign_ins", [])[0]["stored"])

    def begin(self, account: Account, replaced: str = "", visitor: Visitor = NOBODY) -> str:
        """Open a session, in place of the browser's earlier one; returns its id, which is new.

        Raises SignInFailed if the name belongs to another account, SignedOut if the access was revoked."""
        try:
            person = self._sessions.admit(self._identities.name_of(account), account.groups)
        except AisbenchError as error:
            self._audit.record_refusal(str(error.message), visitor.address, account.name)
            raise
        session, session_id = self._sessions.of(person), secrets.token_urlsafe(32)
        with self._ledger.transaction() as con:
            ended = self._forget_ended(con, session.began_at)
            con.execute("delete from sign_ins where id_hash = ?", [hash_of(replaced)])
            times = {"began_at": as_text(session.began_at), "active_at": as_text(session.active_at)}
            row = {"id_hash": hash_of(session_id), "name": session.name, **times}
            insert_row(con, "sign_ins", row | {"address": visitor.address, "browser": visitor.browser})
        self._audit.signed_in(person.name, person.role, account.issuer, visitor.address)
        for one in ended:
            self._audit.record_end(one.name, self._why_ended(one))
        return session_id

    def _forget_ended(self, con: LedgerConnection, now: datetime) -> list[Session]:
        limits = [as_text(now - self._sessions.longest), as_text(now - self._sessions.idle)]
        found = con.execute("select * from sign_ins where began_at < ? or active_at < ?", limits).fetchall()
        con.executemany("delete from sign_ins where id_hash = ?", [[row["id_hash"]] for row in found])
        return [_session_of(row) for row in found]

    def _why_ended(self, session: Session) -> str:
        end = min(session.active_at + self._sessions.idle, session.began_at + self._sessions.longest)
        setting = "session_hours" if end == session.began_at + self._sessions.longest else "session_idle_minutes"
        return f"at {end:%Y-%m-%d %H:%M} UTC by {setting}"

    def whose(self, session_id: str) -> Whose:
        """Whom a request with this id is from. A session whose person was revoked ends."""
        with suppress(SignedOut):
            name = self.check_session(session_id, active=False).name
            if not self._people.is_revoked(name):
                return Whose(name)
            if self._end_session(session_id):
                self._audit.record_end(name, "the access was revoked")
            return Whose(is_revoked=True)
        return Whose()

    def check_session(self, session_id: str, *, active: bool) -> Session:
        """The session as of now; `active`: whether the person did something, no timer. Raises SignedOut once ended."""
        stored = self._read_session(hash_of(session_id))
        if stored is None:
            raise SignedOut(Message("you are signed out"), Message("reload the page to sign in"))
        session = self._sessions.check_session(stored, active=active)
        if session.active_at - stored.active_at >= min(STORED_EVERY, self._sessions.idle / STORED_PART):
            with suppress(AisbenchError):  # then the session ends earlier
                self._store_use(session_id, session)
        return session

    def end(self, session_id: str) -> None:
        """Sign out: every page of that browser ends, at every console."""
        stored = self._read_session(hash_of(session_id))
        if self._end_session(session_id) and stored:
            self._audit.signed_out(stored.name)

    def _end_session(self, session_id: str) -> bool:
        """Whether a session was open until now."""
        with self._ledger.transaction() as con:
            return con.execute("delete from sign_ins where id_hash = ?", [hash_of(session_id)]).rowcount > 0

    def _store_use(self, session_id: str, session: Session) -> None:
        with self._ledger.transaction() as con:
            values = [as_text(session.active_at), hash_of(session_id)]
            con.execute("update sign_ins set active_at = ? where id_hash = ?", values)

    def _read_session(self, id_hash: str) -> Session | None:
        revision = self._ledger.revision()
        with self._guard:
            if revision is None or revision != self._revision:
                self._read, self._revision = {}, revision
            if id_hash in self._read:
                return self._read[id_hash]
        rows = self._ledger.rows("select * from sign_ins where id_hash = ?", [id_hash])
        session = _session_of(rows[0]) if rows else None
        with self._guard:
            if session and revision is not None and revision == self._revision:
                self._read[id_hash] = session
        return session


def _session_of(row: Row) -> Session:
    return Session(row["name"], as_time(row["began_at"]), as_time(row["active_at"]))


def hash_of(session_id: str) -> str:
    """What the ledger has in place of the id."""
    return hashlib.sha256(session_id.encode()).hexdigest()
