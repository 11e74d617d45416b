"""What every export says of itself: the report's number, when it was written, the head of the audit at that time, and
what inferred rulesets rest on."""

from collections.abc import Mapping
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.exporting.columns import SheetColumn, make_text

_BASIS = "list_extract($basis_texts::VARCHAR[], list_position($basis_ids::VARCHAR[], {ruleset_id}))"

# What the number is computed from. The export of runs has all of it, so that anybody can compute it again.
_DECISIVE = ("record_sha256", "ruleset_id", "validity", "failed_checks", "warned_checks")

_CELLS = ", ".join(f"coalesce({name}, '')" for name in _DECISIVE)
_RUN_SHA256 = f"sha256(concat_ws(chr(31), {_CELLS}))"


def basis_column(ruleset_ids: str) -> SheetColumn:
    """`ruleset_basis` for ids separated by `;`: standards are not public, and a table that names one must not look as
    if it applied its text."""
    inferred = f"list_filter(string_split({ruleset_ids}, ';'), lambda id: list_contains($basis_ids::VARCHAR[], id))"
    one = f"concat(ruleset_id, ': ', {_BASIS.format(ruleset_id='ruleset_id')})"
    several = f"array_to_string(list_transform({inferred}, lambda ruleset_id: {one}), ';')"
    return make_text(
        "ruleset_basis",
        "basis of the rules if it is not the text of the standard: `rules inferred without the standard's text`, or "
        "how many were inferred; several rulesets with their ids, separated by `;`; empty if none was",
        f"case when contains({ruleset_ids}, ';') then {several} else {_BASIS.format(ruleset_id=ruleset_ids)} end",
    )


def build_provenance(
    cur: DuckDBPyConnection,
    condition: str,
    filters: Mapping[str, object],
    at: datetime,
    bases: Mapping[str, str],
    audit_head: str = "",
) -> dict[str, object]:
    """The parameters of these columns, for the runs that fulfil the condition. `bases`: of rulesets, by their ids."""
    return {
        "audit_head": audit_head,
        "exported_at": at.astimezone(UTC).replace(tzinfo=None),
        "report_id": _report_id(cur, condition, filters),
        "basis_ids": list(bases),
        "basis_texts": list(map(str, bases.values())),
    }


def _report_id(cur: DuckDBPyConnection, condition: str, filters: Mapping[str, object]) -> str:
    """The same in every file and on every page about the same runs with the same validity; empty without runs."""
    cur.execute(
        f"""select sha256(string_agg({_RUN_SHA256}, '' order by {_RUN_SHA256}))
        from runs join results using (run_id) where {condition}""",
        dict(filters),
    )
    [(sha256,)] = cur.fetchall()
    return f"AISB-{sha256[:12].upper()}" if sha256 else ""
