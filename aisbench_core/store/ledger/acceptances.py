"""Acceptances in the ledger: each is stored once and ended once."""

from dataclasses import dataclass

from pydantic import TypeAdapter

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.domain.acceptance.acceptance import Acceptance, AcceptancePlan, AcceptanceState
from aisbench_core.model import Event, Grant, Role
from aisbench_core.store.ledger.database.connection import Row
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, add_event, as_text, as_time

LISTED = 200

_PLAN = TypeAdapter(AcceptancePlan)


@dataclass(frozen=True, slots=True)
class AcceptanceLedger:
    """Threads and processes may share it, like the ledger."""

    ledger: Ledger

    def add(self, acceptance: Acceptance, event: Event, token: str = "") -> Acceptance:
        """Store an acceptance; the earlier one if its token was stored before."""
        row = {
            "acceptance_id": acceptance.acceptance_id, "plan": _PLAN.dump_json(acceptance.plan).decode(),
            "profile": acceptance.profile, "created_at": as_text(acceptance.created_at),
            "created_by": acceptance.created_by, "state": acceptance.state.value, "reason": "",
            "reason_data": "", "ended_at": None, "token": token or None, "role": acceptance.grant.role.value,
            "token_id": acceptance.grant.token_id,
        }  # fmt: skip
        with self.ledger.transaction() as con:
            query = "select * from acceptances where token = ?"
            if token and (earlier := con.execute(query, [token]).fetchone()):
                return _to_acceptance(earlier)
            insert_row(con, "acceptances", row)
            add_event(con, event)
        return acceptance

    def get(self, acceptance_id: str) -> Acceptance:
        """One acceptance by its id or a unique prefix of it. Raises ConfigError."""
        found = self.ledger.starting_with("acceptances", "acceptance_id", acceptance_id)
        if len(found) != 1:
            raise ConfigError(
                Message("{count} acceptances start with {start!r}", count=len(found), start=acceptance_id),
                Message("`aisbench acceptance list` lists them"),
            )
        return _to_acceptance(found[0])

    def list_newest(self) -> list[Acceptance]:
        """The newest LISTED, newest first."""
        query = "select * from acceptances order by created_at desc, acceptance_id desc limit ?"
        return [_to_acceptance(row) for row in self.ledger.rows(query, [LISTED])]

    def list_running(self) -> list[Acceptance]:
        """Those that have not ended, oldest first."""
        query = "select * from acceptances where state = ? order by created_at, acceptance_id"
        return [_to_acceptance(row) for row in self.ledger.rows(query, [AcceptanceState.RUNNING.value])]

    def end(self, ended: Acceptance, event: Event) -> bool:
        """Store how it ended; False if it had ended before."""
        with self.ledger.transaction() as con:
            done = con.execute(
                "update acceptances set state = ?, reason = ?, reason_data = ?, ended_at = ?"
                " where acceptance_id = ? and state = ?",
                [
                    ended.state.value, str(ended.reason), to_json(ended.reason),
                    as_text(ended.ended_at or event.at), ended.acceptance_id, AcceptanceState.RUNNING.value,
                ],
            )  # fmt: skip
            if done.rowcount != 1:
                return False
            add_event(con, event)
            return True


def _to_acceptance(row: Row) -> Acceptance:
    return Acceptance(
        row["acceptance_id"],
        _PLAN.validate_json(row["plan"]),
        row["profile"],
        as_time(row["created_at"]),
        row["created_by"],
        Grant(Role(row["role"]), row["token_id"]),
        AcceptanceState(row["state"]),
        from_json(row["reason"], row["reason_data"]),
        as_time(row["ended_at"]) if row["ended_at"] else None,
    )
