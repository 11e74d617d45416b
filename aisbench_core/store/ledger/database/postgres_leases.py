"""Who follows what of a ledger in PostgreSQL: followers on any machine share the profiles."""

import logging
from collections.abc import Callable
from math import ceil

from aisbench_core.base.errors import AisbenchError
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.connection import ProfileShare
from aisbench_core.store.ledger.database.postgres_connection import FollowerConnection, translate_errors

LOG = logging.getLogger(__name__)


class DatabaseLeases:
    """By locks of a connection to the ledger's database, on whichever machine (Leases).

    Each follower has a seat, and locks as many of the profiles with active runs as are its share; a profile changes
    hands when no step of its runs is going on. A substitute has no seat: it follows all while there are no seats, and
    gives up everything as soon as there is one.

    PostgreSQL frees the locks as soon as their holder dies, and some seconds after its machine or network did. A holder
    that has lost its connection learns it from `are_held`; what it was doing meanwhile is safe, as every step can be
    repeated, jobs have unique names, and outcomes are stored by compare-and-set."""

    def __init__(self, address: LedgerAddress, *, substitute: bool) -> None:
        self._address = address
        self._is_substitute = substitute
        self._con: FollowerConnection | None = None
        self._leads = False
        self._held: set[str] = set()
        self._last_error = ""

    def join(self, seconds: float) -> bool:
        """Take a seat; a substitute waits so long at most to lead. While there is no database nobody follows."""
        try:
            with translate_errors(self._address):
                self._con = self._con or FollowerConnection(self._address)
                joined = self._stand_in(self._con, seconds) if self._is_substitute else self._con.take_seat()
        except AisbenchError as error:
            self.leave()
            if str(error) != self._last_error:
                LOG.error("cannot follow: %s", error)  # noqa: TRY400  # ours need no traceback
            self._last_error = str(error)
            return False
        self._last_error = ""
        return joined

    def are_held(self) -> bool:
        """Whether the connection that holds the locks still stands, and a substitute is still needed."""
        if self._con is None or (self._is_substitute and not self._leads and not self._held):
            return False
        try:
            with translate_errors(self._address):
                return self._con.stands()
        except AisbenchError as error:
            LOG.warning("does not follow any more: %s", error)
            return False

    def share(self, profiles: frozenset[str], is_idle: Callable[[str], bool]) -> ProfileShare:
        """Our part of them, and who leads. Raises LedgerUnavailable."""
        if self._con is None:
            return ProfileShare(leads=False, held=frozenset())
        with translate_errors(self._address):
            return self._share_profiles(self._con, profiles, is_idle)

    def leave(self) -> None:
        """Let others follow, at once."""
        con, self._con = self._con, None
        self._leads, self._held = False, set()
        if con is not None:
            con.close()

    def _stand_in(self, con: FollowerConnection, seconds: float) -> bool:
        self._leads = con.waits_to_lead(seconds)
        if self._leads and con.seats():
            con.stop_leading()
            self._leads = False
        return self._leads

    def _share_profiles(
        self, con: FollowerConnection, profiles: frozenset[str], is_idle: Callable[[str], bool]
    ) -> ProfileShare:
        seats = con.seats()
        gives_way = self._is_substitute and seats > 0
        most = 0 if gives_way else ceil(len(profiles) / max(seats, 1))
        if gives_way:
            if self._leads and is_idle(""):
                con.stop_leading()
                self._leads = False
        elif not self._leads:
            self._leads = con.tries_to_lead()
        leaving = (self._held - profiles) | set(sorted(self._held & profiles)[most:])
        for profile in [name for name in leaving if is_idle(name)]:
            con.give_up(profile)
            self._held.remove(profile)
            leaving.remove(profile)
        for profile in sorted(profiles - self._held):
            if len(self._held & profiles) < most and con.tries_to_follow(profile):
                self._held.add(profile)
        return ProfileShare(self._leads and not gives_way, frozenset(self._held), frozenset(leaving))
