"""Sessions of people whom an OpenID Connect provider signed in.

The browser has a random id in a cookie, and this process has the rest: what has ended here opens nothing, whoever still
has the cookie. After a restart people sign in again.
"""

import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass

from aisbench_core.accounts.identities import Account, Identities
from aisbench_core.accounts.people import People
from aisbench_core.accounts.sessions import Session, Sessions
from aisbench_core.errors import SignedOut
from aisbench_core.messages import Message


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose a session is; nobody's without a name."""

    name: str = ""
    is_revoked: bool = False


class SignIns:
    """The open sessions of this process. Threads may share them."""

    def __init__(self, sessions: Sessions, people: People, identities: Identities) -> None:
        self._sessions = sessions
        self._people = people
        self._identities = identities
        self._guard = threading.Lock()
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        """How many sessions this process remembers."""
        return len(self._open)

    def begin(self, account: Account, replaced: str = "") -> str:
        """Open a session, in place of the browser's earlier one; returns its id, which is new.

        Raises SignInFailed if the name belongs to another account, SignedOut if the access was revoked."""
        session = self._sessions.begin_as(self._identities.name_of(account), account.groups)
        session_id = secrets.token_urlsafe(32)
        with self._guard:
            self._open = {each: one for each, one in self._open.items() if each != replaced and self._lives(one)}
            self._open[session_id] = session
        return session_id

    def whose(self, session_id: str) -> Whose:
        """Whom a request with this id is from. A session whose person was revoked ends."""
        with suppress(SignedOut):
            name = self.checked(session_id, active=False).name
            if not self._people.is_revoked(name):
                return Whose(name)
            self.end(session_id)
            return Whose(is_revoked=True)
        return Whose()

    def checked(self, session_id: str, *, active: bool) -> Session:
        """The session as of now; `active`: whether the person did something, no timer. Raises SignedOut once ended."""
        with self._guard:
            session = self._open.get(session_id)
            if session is None:
                raise SignedOut(Message("you are signed out"), Message("reload the page to sign in"))
            self._open[session_id] = checked = self._sessions.checked(session, active=active)
        return checked

    def end(self, session_id: str) -> None:
        """Sign out: every page of that browser ends."""
        with self._guard:
            self._open.pop(session_id, None)

    def _lives(self, session: Session) -> bool:
        with suppress(SignedOut):
            return bool(self._sessions.checked(session, active=False))
        return False
