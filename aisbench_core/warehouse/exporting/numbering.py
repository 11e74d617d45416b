"""The number of a report: the same in every file and on every page about the same runs with the same verdicts."""

from collections.abc import Mapping

from duckdb import DuckDBPyConnection

_NAMES = ("record_sha256", "ruleset_id", "validity", "failed_checks", "warned_checks")
"""What decides of a run. All of it stands in the export of runs, so that anybody can count the number again."""

_CELLS = ", ".join(f"coalesce({name}, '')" for name in _NAMES)
_TOLD = f"sha256(concat_ws(chr(31), {_CELLS}))"


def report_id(cur: DuckDBPyConnection, condition: str, named: Mapping[str, object]) -> str:
    """The number of a report about the runs that fulfil the condition; empty when there are none."""
    cur.execute(
        f"""select sha256(string_agg({_TOLD}, '' order by {_TOLD}))
        from runs join results using (run_id) where {condition}""",
        dict(named),
    )
    [(found,)] = cur.fetchall()
    return f"AISB-{found[:12].upper()}" if found else ""
