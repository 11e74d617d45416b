"""What the audit says of sign-ins: who came in, who was refused, and how sessions ended. Repetitions are counted."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError, ReadOnlyFolder
from aisbench_core.domain.access.audit_entry import Act, ActOutcome
from aisbench_core.model import Clock, Role, WayIn

LOG = logging.getLogger(__name__)

SIGN_IN, SIGN_OUT, END = "session.sign_in", "session.sign_out", "session.end"

# The same from the same address is one entry in this time; the next one says how often it happened in between.
REFUSAL_EVERY = timedelta(minutes=10)
# Whoever varies what is refused: this many entries an hour from an address, and from all of them.
HOUR, MOST_OF_ADDRESS, MOST_REFUSALS = timedelta(hours=1), 20, 200
# Behind a proxy each page that opens is a sign-in.
PAGE_EVERY = timedelta(hours=1)


@dataclass(slots=True)
class _Repeated:
    at: datetime
    more: int = 0


class SignInAudit:
    """Writes entries about sessions. Threads may share it; each process counts for itself."""

    def __init__(self, record: Callable[[Act], None], clock: Clock) -> None:
        self._record = record
        self._clock = clock
        self._guard = threading.Lock()
        self._refusals: dict[tuple[str, str, str], _Repeated] = {}
        self._recorded: deque[tuple[datetime, str]] = deque()
        self._pages: dict[tuple[str, Role], datetime] = {}

    def signed_in(self, who: str, role: Role, how: str, address: str) -> None:
        """Somebody opened a session; `how`: who says that it is this person."""
        self._write_entry(Act(who, role, WayIn.CONSOLE, SIGN_IN, address, ActOutcome.DONE, detail=how))

    def page_opened(self, who: str, role: Role) -> None:
        """Somebody whom the proxy names opened a page: an entry an hour for a person and role."""
        now = self._clock()
        with self._guard:
            last = self._pages.get((who, role))
            if last is not None and now - last < PAGE_EVERY:
                return
            self._pages = {key: at for key, at in self._pages.items() if now - at < PAGE_EVERY} | {(who, role): now}
        self.signed_in(who, role, "proxy", "")

    def record_refusal(self, why: str, address: str, who: str = "", via: WayIn = WayIn.CONSOLE) -> None:
        """A sign-in or token was refused; `who`: whom it would have been, as far as that was proved."""
        more = self._count_repeats((address, who, why))
        if more is not None:
            detail = f"{why}; {more} more since the last entry" if more else why
            self._write_entry(Act(who, "", via, SIGN_IN, address, ActOutcome.REFUSED, detail=detail))

    def signed_out(self, who: str) -> None:
        """Somebody ended their own session."""
        self._write_entry(Act(who, "", WayIn.CONSOLE, SIGN_OUT, "", ActOutcome.DONE))

    def record_end(self, who: str, why: str) -> None:
        """A session ended without its person."""
        self._write_entry(Act(who, "", WayIn.CONSOLE, END, "", ActOutcome.DONE, detail=why))

    def _count_repeats(self, key: tuple[str, str, str]) -> int | None:
        """How often the same was refused since its last entry; None if it gets none now."""
        now = self._clock()
        with self._guard:
            known = self._refusals.get(key)
            if known and now - known.at < REFUSAL_EVERY:
                known.more += 1
                return None
            while self._recorded and now - self._recorded[0][0] >= HOUR:
                self._recorded.popleft()
            of_address = sum(address == key[0] for _, address in self._recorded)
            if of_address >= MOST_OF_ADDRESS or len(self._recorded) >= MOST_REFUSALS:
                return None
            self._recorded.append((now, key[0]))
            # One that was refused more often is kept for its count, so that there are at most as many as entries.
            self._refusals = {each: one for each, one in self._refusals.items() if now - one.at < HOUR}
            self._refusals[key] = _Repeated(now)
            return known.more if known else 0

    def _write_entry(self, act: Act) -> None:
        try:
            self._record(act)
        except ReadOnlyFolder:  # where nobody can sign in
            pass
        except AisbenchError:  # such as a full disk: it keeps nobody out, and the log says it
            LOG.exception("not in the audit: %s", act)
