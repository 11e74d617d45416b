"""Which account of an OpenID Connect provider each name belongs to.

Issuer and subject say who somebody is; the name, which a provider may let people choose, is what others read and what
owns runs. So the first account with a name keeps it, whatever the provider calls it or anybody else later.
"""

from dataclasses import dataclass

from aisbench_core.base.errors import SignInFailed
from aisbench_core.base.messages import Message
from aisbench_core.people.accounts.names import compose_name, name_problem
from aisbench_core.people.accounts.people import check_name
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Ledger

_OTHER_NAME = Message(
    "ask an admin of the provider for another name, or an admin of the console to release this one with"
    " `aisbench people release`"
)


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a provider signed in."""

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...] = ()


class Identities:
    """The names of accounts."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def name_of(self, account: Account) -> str:
        """The name under which an account acts: that of its first sign-in.

        Raises SignInFailed if it, or one that looks alike, is another's or the system's; SpecError if invalid."""
        name = compose_name(account.name)
        check_name(name)
        with self._ledger.transaction() as con:
            query = "select name from identities where issuer = ? and subject = ?"
            if known := con.execute(query, [account.issuer, account.subject]).fetchone():
                return str(known["name"])
            if problem := name_problem(name, _other_names(con, name)):
                raise SignInFailed(problem.message, problem.hint or _OTHER_NAME)
            con.execute("insert into identities values (?, ?, ?)", [account.issuer, account.subject, name])
        return name


def _other_names(con: LedgerConnection, name: str) -> set[str]:
    """The names of other accounts and people. A person without an account was given a role before the first sign-in."""
    owned = {str(row["name"]) for row in con.execute("select name from identities")}
    return owned | ({str(row["name"]) for row in con.execute("select name from people")} - {name})
