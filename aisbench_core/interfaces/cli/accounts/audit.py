"""`aisbench audit`: who changed what, and who signed in."""

import re
from datetime import UTC, datetime
from pathlib import Path

import click

from aisbench_core.domain.access.audit_entry import ActOutcome, AuditEntry
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import choose_value, command, output_option
from aisbench_core.model import WayIn
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.audit.audit_heads import AuditHead
from aisbench_core.store.audit.audit_table import flatten_entry, to_csv

MOST_ENTRIES = 1_000_000


@command()
@click.option("--who", default="", help="Only changes by this person or token.")
@click.option(
    "--change", default="", metavar="START", help="Only changes whose name starts with this, such as run. or run.stop."
)
@click.option("--object", "subject", default="", metavar="START", help="Only of what starts so, such as a run id.")
@click.option("--via", type=choose_value(WayIn), default=None, help="Only through this interface.")
@click.option("--outcome", type=choose_value(ActOutcome), default=None, help="Only with this outcome.")
@click.option("--since", type=click.DateTime(), help="Only from this local time on.")
@click.option("--until", type=click.DateTime(), help="Only before this local time.")
@click.option("--limit", type=click.IntRange(1, MOST_ENTRIES), default=50, show_default=True, help="Entries to list.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@output_option
@click.option(
    "--verify", is_flag=True, help="Verify every hash instead, and that no entry is missing; print the last entry."
)
@click.option("--head", metavar="NUMBER:HASH", help="With --verify: require this entry, noted or exported earlier.")
def audit(
    who: str, change: str, subject: str, via: str | None, outcome: str | None, since: datetime | None,
    until: datetime | None, limit: int, as_csv: bool, output: Path | None, verify: bool, head: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """List who changed what and who signed in, the newest first.

    An entry says in which role, through which interface, on what, with which values before and after, and with which
    outcome. Refused and failed attempts are listed, too. Each entry holds the hash of the one before it.
    """
    if head and not verify:
        raise click.UsageError("--head needs --verify")
    core = open_core(writing=False)
    if verify:
        check = core.audit.verify(get_actor(), _head_of(head) if head else None)
        last = f"{check.last_number}:{check.last_hash}" if check.entries else "none"
        back = f"; clock set back at entry {check.set_back:,}" if check.set_back else ""
        text = f"entries verified: {check.entries:,}; last entry: {last}{back}"
        display.print_result(display.as_dict(check), as_json, lambda: text)
        return
    query = AuditQuery(who, change, subject, via or "", outcome or "", _to_utc(since), _to_utc(until))
    entries = core.audit.entries(query, get_actor(), limit)
    if as_csv:
        display.write_text(output, to_csv(entries))
    elif as_json and output:
        display.write_text(output, display.to_json([flatten_entry(entry) for entry in entries]) + "\n")
    else:
        display.print_result(
            [flatten_entry(entry) for entry in entries], as_json, lambda: display.table_of(entries, COLUMNS)
        )


COLUMNS: display.Columns[AuditEntry] = {
    "when": lambda one: display.local_time(one.at),
    "who": lambda one: one.act.who,
    "role": lambda one: one.act.role,
    "via": lambda one: one.act.via,
    "change": lambda one: one.act.change,
    "object": lambda one: one.act.object,
    "before": lambda one: display.clip_text(one.act.before),
    "after": lambda one: display.clip_text(one.act.after),
    "outcome": lambda one: one.act.outcome,
    "detail": lambda one: display.clip_text(one.act.detail, 80),
}


def _head_of(text: str) -> AuditHead:
    number, _, sha256 = text.partition(":")
    if not (number.isdecimal() and re.fullmatch("[0-9a-f]{64}", sha256)):
        raise click.BadParameter(
            f"{text!r} is not NUMBER:HASH, as --verify prints it: a number, and 64 hex digits", param_hint="--head"
        )
    return AuditHead(int(number), sha256)


def _to_utc(local: datetime | None) -> datetime | None:
    return local.astimezone(UTC) if local else None
