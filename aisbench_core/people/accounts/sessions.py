"""Sessions of people who signed in: each is checked whenever a page calls the core."""

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from aisbench_core.base.errors import SignedOut
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access.permissions import ROLES
from aisbench_core.model import Clock
from aisbench_core.people.accounts.people import People, Person
from aisbench_core.people.accounts.sign_in_audit import SignInAudit

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Session:
    """A person's session; the browser knows nothing of it but an id. Behind a proxy each open page has its own."""

    name: str
    began_at: datetime
    active_at: datetime


class Sessions:
    """Begins and checks sessions."""

    def __init__(self, settings: Settings, people: People, clock: Clock, audit: SignInAudit) -> None:
        self._settings = settings
        self._people = people
        self._audit = audit
        self._clock = clock

    @property
    def idle(self) -> timedelta:
        """A session that nobody uses for longer has ended."""
        return timedelta(minutes=self._settings.session_idle_minutes)

    @property
    def longest(self) -> timedelta:
        """A session has ended after this, however much it is used."""
        return timedelta(hours=self._settings.session_hours)

    @property
    def needs_sign_in(self) -> bool:
        """Whether people are told apart at all."""
        return self._settings.needs_sign_in

    def begin(self, name: str, groups: str) -> Session:
        """A session of somebody whom the proxy named, with groups that commas separate.

        Raises SignedOut if the access was revoked, nobody was named, or nobody may have the name."""
        if not name.strip():
            raise SignedOut(Message("the proxy sent no user name"), Message("sign in there, then reload the page"))
        person = self.admit(self._people.named_by(name), [group.strip() for group in groups.split(",")])
        self._audit.page_opened(person.name, person.role)
        return self.of(person)

    def admit(self, name: str, groups: Collection[str]) -> Person:
        """Somebody of known name and groups, as of now. Raises SignedOut if the access was revoked."""
        known = self._settings.roles_of_groups
        roles = [known[group] for group in groups if group in known]
        person = self._people.sign_in(name, max(roles, key=list(ROLES).index) if roles else None, groups)
        LOG.info("%s signed in, as %s", person.name, person.role)
        return person

    def of(self, person: Person) -> Session:
        """A session that begins now."""
        now = self._clock()
        return Session(person.name, now, now)

    def check_session(self, session: Session, *, active: bool) -> Session:
        """The session as of now; `active`: whether the person did something, no timer. Raises SignedOut after its end.

        Whether the person still has access is `People.current`, which callers may keep until the ledger changes."""
        now = self._clock()
        if now - session.active_at > self.idle or now - session.began_at > self.longest:
            raise SignedOut(
                Message("the session of {who} has ended", who=session.name), Message("reload the page to continue")
            )
        return replace(session, active_at=now) if active else session
