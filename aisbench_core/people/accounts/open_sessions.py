"""The sessions that people have open: everybody sees and ends their own, admins those of all."""

from dataclasses import dataclass
from datetime import datetime

from aisbench_core.base.errors import SessionNotFound
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted, permitted_for
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, Clock, Role
from aisbench_core.people.accounts.sessions import Sessions
from aisbench_core.people.accounts.sign_ins import hash_of
from aisbench_core.store.ledger.database.connection import Row
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

SHOWN_LETTERS = 12
"""So much of the hash of a session's id names it, and opens nothing."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One browser of a person. `active_at` is stored every five minutes at most; `address` and `browser` are those of
    the sign-in, and empty where nobody knows them."""

    session_id: str
    name: str
    began_at: datetime
    active_at: datetime
    address: str
    browser: str


def shown_id(session_id: str) -> str:
    """What is shown of the session in a browser's cookie."""
    return hash_of(session_id)[:SHOWN_LETTERS]


def _find_owner(self: "OpenSessions", session: str, actor: Actor) -> str | None:  # noqa: ARG001  # the guard's
    found = self.starting_with(session)
    return found[0].name if len(found) == 1 else None


def _get_person(self: "OpenSessions", person: str, actor: Actor, besides: str = "") -> str:  # noqa: ARG001  # the guard's
    return person


class OpenSessions:
    """Lists and ends sessions. Threads and processes may share it."""

    def __init__(self, ledger: Ledger, sessions: Sessions, clock: Clock) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._clock = clock

    @permitted
    def visible(self, actor: Actor) -> list[OpenSession]:
        """One's own sessions, and for an admin those of everybody; the last used one first."""
        return [one for one in self._list_sessions() if one.name == actor.name or Role.ADMIN in actor.roles]

    @permitted_for(_find_owner)
    def end(self, session: str, actor: Actor) -> OpenSession:
        """End a session, named by its id or a unique prefix of it: its pages end within a minute.

        Raises SessionNotFound; NotAllowed for those of others."""
        found = self.starting_with(session)
        if len(found) != 1:
            many = Message("several sessions start with {start!r}", start=session)
            none = Message("no open session starts with {start!r}", start=session)
            raise SessionNotFound(many if found else none, Message("`aisbench session list` lists them"))
        self._end_sessions(found)
        log_change(actor, f"end session {found[0].session_id} of {found[0].name}")
        return found[0]

    @permitted_for(_get_person)
    def end_all(self, person: str, actor: Actor, besides: str = "") -> list[OpenSession]:
        """End all sessions of a person, besides the one with this id. Raises NotAllowed for those of others."""
        found = [one for one in self._list_sessions() if one.name == person and one.session_id != besides]
        self._end_sessions(found)
        log_change(actor, f"end all sessions of {person}: {len(found)}")
        return found

    def starting_with(self, session: str) -> list[OpenSession]:
        """The open sessions whose id starts so; none for an empty start."""
        return [one for one in self._list_sessions() if session and one.session_id.startswith(session)]

    def _list_sessions(self) -> list[OpenSession]:
        now = self._clock()
        limits = [as_text(now - self._sessions.longest), as_text(now - self._sessions.idle)]
        query = "select * from sign_ins where began_at >= ? and active_at >= ? order by active_at desc, id_hash"
        return [_session_of(row) for row in self._ledger.rows(query, limits)]

    def _end_sessions(self, found: list[OpenSession]) -> None:
        with self._ledger.transaction() as con:
            values = [(SHOWN_LETTERS, one.session_id) for one in found]
            con.executemany("delete from sign_ins where substr(id_hash, 1, ?) = ?", values)


def _session_of(row: Row) -> OpenSession:
    times = (as_time(row["began_at"]), as_time(row["active_at"]))
    return OpenSession(row["id_hash"][:SHOWN_LETTERS], row["name"], *times, row["address"], row["browser"])
