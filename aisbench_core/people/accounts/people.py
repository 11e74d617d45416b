"""People in the ledger's file: who signed in, and with which role they act."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from aisbench_core.base.errors import PersonNotFound, Problem, SignedOut, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.domain.access.permissions import ROLES
from aisbench_core.model import Actor, Clock, Role, WayIn
from aisbench_core.people.accounts.names import (
    NameProblem,
    alike_problem,
    compose_name,
    decode_header,
    name_problem,
    program_name_problem,
)
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import replace_row
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

# Each sign-in would be a write, and would empty what pages have cached of the ledger.
SEEN_EVERY = timedelta(minutes=5)
MOST_LETTERS = 100
MOST_TEAMS = 200


@dataclass(frozen=True, slots=True)
class Person:
    """`given_role`: from an admin; `group_role`: from the groups of the last sign-in. The higher one applies.

    `last_seen_at`: the last sign-in; None of who was only given a role."""

    name: str
    given_role: Role | None
    group_role: Role | None
    first_seen_at: datetime
    last_seen_at: datetime | None
    changed_at: datetime | None = None
    changed_by: str = ""
    revoked: bool = False

    @property
    def role(self) -> Role:
        """The role in which the person acts."""
        order = list(ROLES)
        return max((self.given_role or Role.VIEWER, self.group_role or Role.VIEWER), key=order.index)

    @property
    def is_admin(self) -> bool:
        """Whether the person may change what other people may do."""
        return self.role is Role.ADMIN and not self.revoked

    def to_actor(self, via: WayIn) -> Actor:
        """The person as one who changes something."""
        return Actor(self.name, self.role.included, via)


class People:
    """Who signed in to this console. Threads and processes may share it."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def sign_in(self, name: str, group_role: Role | None, groups: Collection[str] = ()) -> Person:
        """The person of a checked sign-in; a new one is a viewer.

        Raises SignedOut if the access was revoked, or if nobody new may have the name.
        The groups are the person's teams until the next sign-in."""
        person, now, teams = self.find(name), self._clock(), _select_teams(groups)
        seen_at = person.last_seen_at if person else None
        is_seen = seen_at is not None and now - seen_at < SEEN_EVERY
        if person is None and (problem := self.name_problem(name)):
            raise SignedOut(problem.message, problem.hint or OTHER_NAME)
        if person is None or not is_seen or person.group_role is not group_role or teams != self.teams(name):
            person = self._mark_seen(name, group_role, teams, now)
        return _require_active(person)

    def teams(self, name: str) -> list[str]:
        """The groups of somebody's last sign-in, sorted."""
        rows = self._ledger.rows("select team from team_members where person = ? order by team", [name])
        return [row["team"] for row in rows]

    def current(self, name: str) -> Person:
        """The person now. Raises SignedOut if the access was revoked since the sign-in."""
        person = self.find(name)
        if person is None:
            raise SignedOut(Message("{who} is not known to this console any more", who=name), _AGAIN)
        return _require_active(person)

    def find(self, name: str) -> Person | None:
        """A person by name; None if there is none."""
        found = self._ledger.rows("select * from people where name = ?", [name])
        return _person_of(found[0]) if found else None

    def named_by(self, header: str) -> str:
        """Whom a proxy names in a header. Who is known by the header as it stands keeps that name."""
        name = header.strip()
        read = compose_name(decode_header(name))
        return name if name == read or self.find(name) else read

    def name_problem(self, name: str) -> NameProblem | None:
        """Why nobody new may sign in under a name; None for a known one, and one that is free."""
        return None if self.find(name) else name_problem(name, self._list_names())

    def require_program_name(self, name: str) -> None:
        """Raise SpecError if no new token may have a name; that of a person has its own rules."""
        if not self.find(name) and (problem := program_name_problem(name, self._list_names())):
            raise _make_refusal(problem, Message("the token"))

    def is_revoked(self, name: str) -> bool:
        """Whether somebody's access was revoked."""
        person = self.find(name)
        return person is not None and person.revoked

    def role_of(self, name: str) -> Role | None:
        """Somebody's role now; None if nobody of that name is known. Raises SignedOut if the access was revoked."""
        person = self.find(name)
        return _require_active(person).role if person else None

    @permitted
    def all(self, actor: Actor) -> list[Person]:  # noqa: ARG002  # the guard's
        """Everybody, by name."""
        return [_person_of(row) for row in self._ledger.rows("select * from people order by name")]

    @permitted
    def set_role(self, person: str, role: Role, actor: Actor) -> Person:
        """Give a role, also to somebody who has not signed in yet or whose access was revoked.

        Raises SpecError for a name that nobody may have, or if no admin would be left."""
        person = person if self.find(person) else compose_name(person)
        check_name(person)
        if problem := self.name_problem(person):
            raise _make_refusal(problem, Message("the person"))
        now = self._clock()
        with self._ledger.transaction() as con:
            before = _read_person(con, person)
            start = before or Person(person, None, None, now, None)
            after = replace(start, given_role=role, revoked=False, changed_at=now, changed_by=actor.name)
            note_values(_describe_access(before), _describe_access(after))
            _store_person(con, after)
            _require_admin(con, before)
        return after

    @permitted
    def revoke(self, person: str, actor: Actor) -> Person:
        """End somebody's access; open pages end within a minute. A name that nobody signed in with has tokens, too.

        Raises SpecError for an invalid name, one that only looks like a known one, and for the last admin."""
        person = person if self.find(person) else compose_name(person)
        check_name(person)
        if not self.find(person) and (problem := alike_problem(person, self._names_beside(person))):
            raise _make_refusal(problem, Message("the person"))
        now = self._clock()
        with self._ledger.transaction() as con:
            before = _read_person(con, person)
            start = before or Person(person, None, None, now, None)
            after = replace(start, revoked=True, changed_at=now, changed_by=actor.name)
            note_values(_describe_access(before), _describe_access(after))
            _store_person(con, after)
            _require_admin(con, before)
        return after

    @permitted
    def release(self, person: str, actor: Actor) -> None:  # noqa: ARG002  # the guard's
        """Let another account of the provider sign in under a name; forget who has no account, and their role.

        Tokens of a forgotten name are limited by no role of its own any more. Raises PersonNotFound for a name that
        nobody has, and SpecError for the last admin."""
        with self._ledger.transaction() as con:
            if con.execute("delete from identities where name = ?", [person]).rowcount:
                return
            before = _read_person(con, person)
            if before is None:
                raise PersonNotFound(
                    Message("nobody has the name {name!r}", name=person),
                    Message("`aisbench people list` lists everybody"),
                )
            note_values(_describe_access(before), "")
            con.execute("delete from people where name = ?", [person])
            con.execute("delete from team_members where person = ?", [person])
            _require_admin(con, before)

    def _names_beside(self, name: str) -> list[str]:
        """Names of people, and of tokens unless one has just this name: revoking ANN must not leave ann her tokens."""
        owners = {str(row["name"]) for row in self._ledger.rows("select distinct name from tokens", [])}
        return [*self._list_names(), *(() if name in owners else sorted(owners))]

    def _list_names(self) -> list[str]:
        return [str(row["name"]) for row in self._ledger.rows("select name from people", [])]

    def _mark_seen(self, name: str, group_role: Role | None, teams: Sequence[str], now: datetime) -> Person:
        check_name(name)
        with self._ledger.transaction() as con:
            start = _read_person(con, name) or Person(name, None, group_role, now, now)
            person = replace(start, group_role=group_role, last_seen_at=now)
            _store_person(con, person)
            con.execute("delete from team_members where person = ?", [name])
            con.executemany("insert into team_members (team, person) values (?, ?)", [(team, name) for team in teams])
        return person


def _select_teams(groups: Collection[str]) -> list[str]:
    """What can be the name of a team; sorted as the ledger does."""
    named = {group for group in groups if group.strip() and group.isprintable() and len(group) <= MOST_LETTERS}
    return sorted(named)[:MOST_TEAMS]


OTHER_NAME = Message("ask whoever manages the proxy's accounts for another name")
_AGAIN = Message("ask an admin for access, then reload the page")


def _make_refusal(problem: NameProblem, what: Message) -> SpecError:
    hint = problem.hint or Message("choose another name")
    return SpecError(what, [Problem("name", problem.message)], hint)


def _require_active(person: Person) -> Person:
    if person.revoked:
        raise SignedOut(Message("the access of {who} was revoked", who=person.name), _AGAIN)
    return person


def check_name(name: str) -> None:
    """Raise SpecError for a name that cannot be told from others."""
    if not name.isprintable() or not name.strip() or name != name.strip() or len(name) > MOST_LETTERS:
        problem = Message("must have 1 to {most} printable characters, and no space at either end", most=MOST_LETTERS)
        raise SpecError(Message("the person"), [Problem("name", problem, repr(name)[:MOST_LETTERS])])


def _require_admin(con: LedgerConnection, before: Person | None) -> None:
    """Raise SpecError if a change has left nobody who could undo it; the transaction is rolled back then."""
    if before is None or not before.is_admin:
        return
    if not any(_person_of(row).is_admin for row in con.execute("select * from people")):
        problem = Message("is the last admin")
        hint = Message("make somebody else an admin first")
        raise SpecError(Message("the person"), [Problem("name", problem, before.name)], hint)


def _describe_access(person: Person | None) -> str:
    if person is None:
        return ""
    return "revoked" if person.revoked else str(person.role)


def _read_person(con: LedgerConnection, name: str) -> Person | None:
    row = con.execute("select * from people where name = ?", [name]).fetchone()
    return _person_of(row) if row else None


def _store_person(con: LedgerConnection, person: Person) -> None:
    row = {
        "name": person.name, "role": person.given_role or "", "group_role": person.group_role or "",
        "first_seen_at": as_text(person.first_seen_at),
        "last_seen_at": as_text(person.last_seen_at) if person.last_seen_at else "",
        "changed_at": as_text(person.changed_at) if person.changed_at else None,
        "changed_by": person.changed_by, "revoked": int(person.revoked),
    }  # fmt: skip
    replace_row(con, "people", "name", row)


def _person_of(row: Row) -> Person:
    return Person(
        row["name"], _parse_role(row["role"]), _parse_role(row["group_role"]),
        as_time(row["first_seen_at"]), as_time(row["last_seen_at"]) if row["last_seen_at"] else None,
        as_time(row["changed_at"]) if row["changed_at"] else None, row["changed_by"], bool(row["revoked"]),
    )  # fmt: skip


def _parse_role(text: str) -> Role | None:
    return Role(text) if text else None
