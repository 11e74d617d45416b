"""Budgets that are nearly used, or used up: each is an event for notifications, once for each month and amount."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import format_money, format_percent
from aisbench_core.base.messages import Message
from aisbench_core.model import BudgetUse, Clock, NewsKind, Notice
from aisbench_core.people.budgets.ledger import BudgetLedger
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.database.rows import insert_row, make_marks
from aisbench_core.store.ledger.ledger import Ledger, add_notice, as_text

LOG = logging.getLogger(__name__)

PAUSE = timedelta(minutes=1)
"""Between two checks, because each adds up the runs of a month."""


@dataclass(slots=True)
class BudgetAlerts:
    """For one thread at a time. Which alerts there were is in the ledger, so that no follower repeats another's."""

    ledger: Ledger
    budgets: BudgetLedger
    clock: Clock
    _checked: datetime | None = None
    _last_error: str = ""

    def tick(self) -> None:
        """Store a notice for each budget that has reached another share. Never raises: runs must go on."""
        now = self.clock()
        if self._checked is not None and abs(now - self._checked) < PAUSE:
            return
        self._checked = now
        try:
            self._check_uses(now)
        except Exception as error:
            if str(error) != self._last_error:
                bug = None if isinstance(error, AisbenchError) else error
                LOG.error("budgets: %s", error, exc_info=bug)  # noqa: TRY400  # ours need no traceback
            self._last_error = str(error)
        else:
            self._last_error = ""

    def _check_uses(self, now: datetime) -> None:
        reached = [use for use in self.budgets.uses(now) if use.alert_shares]
        alerts = [_alert_id(use, share) for use in reached for share in use.alert_shares]
        query = f"select count(*) from budget_alerts where alert_id in {make_marks(alerts)}"  # noqa: S608  # only ? marks
        [(stored,)] = self.ledger.rows(query, alerts)
        if stored == len(alerts):  # nearly always; to write, even nothing, would make all others wait
            return
        with self.ledger.transaction() as con:
            for use in reached:
                if _stores_alerts(con, use, now):
                    add_notice(con, _make_notice(use, now))


def _stores_alerts(con: LedgerConnection, use: BudgetUse, now: datetime) -> bool:
    """Whether there are alerts of a budget that no other follower has stored."""
    known = "select 1 from budget_alerts where alert_id = ?"
    alerts = [_alert_id(use, share) for share in use.alert_shares]
    new = [alert for alert in alerts if con.execute(known, [alert]).fetchone() is None]
    for alert in new:
        insert_row(con, "budget_alerts", {"alert_id": alert, "at": as_text(now)})
    return bool(new)


def _alert_id(use: BudgetUse, share: float) -> str:
    """The same for the same share of the same amount; another amount is a new budget."""
    budget, month = use.budget, f"{use.month:%Y-%m}" if use.month else ""
    parts = (budget.scope, use.subject, budget.currency, month, repr(budget.amount), f"{share:.0%}")
    return ":".join((NewsKind.BUDGET, *parts))


def _make_notice(use: BudgetUse, now: datetime) -> Notice:
    share = use.alert_shares[-1]
    currency = use.budget.currency
    text = Message(
        "{budget} has reached {share}: {spent} spent and {reserved} reserved of {amount}",
        budget=use.title,
        share=format_percent(share),
        spent=format_money(use.spent, currency),
        reserved=format_money(use.reserved, currency),
        amount=format_money(use.budget.amount, currency),
    )
    subject = " ".join(filter(None, (use.budget.scope, use.subject)))
    return Notice(_alert_id(use, share), subject, NewsKind.BUDGET, now, text)
