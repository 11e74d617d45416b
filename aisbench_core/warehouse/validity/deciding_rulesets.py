"""Which rulesets decided the validity of stored runs, and whether they are known here."""

from collections.abc import Iterator

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.rulesets.ruleset import Ruleset, Rulesets

# Rows of versions that stored no hash are left out.
_DECIDING = """select ruleset_id, ruleset_sha256, count(*), min(run_id) from results
    where ruleset_sha256 <> '' group by all order by all"""


def foreign_rulesets(cur: DuckDBPyConnection, rulesets: Rulesets) -> Iterator[tuple[str, Message]]:
    """Where a ruleset decided that is not known, or had other rules, and which."""
    for ruleset_id, sha256, count, run_id in cur.execute(_DECIDING).fetchall():
        try:
            if rulesets.get(ruleset_id).sha256 == sha256:
                continue
            sentence = Message("the validity was decided by other rules of ruleset {ruleset_id}", ruleset_id=ruleset_id)
        except (ConfigError, SpecError):
            sentence = Message(
                "the validity was decided by a ruleset that is not known: {ruleset_id}", ruleset_id=ruleset_id
            )
        where = Message("results, run {run_id} and {count} more", run_id=run_id, count=count - 1)
        yield where if count > 1 else f"results, run {run_id}", sentence


def find_edition(rulesets: Rulesets, ruleset_id: str, sha256: str) -> Ruleset | None:
    """The ruleset, if it has these rules here."""
    try:
        ruleset = rulesets.get(ruleset_id)
    except (ConfigError, SpecError):
        return None
    return ruleset if ruleset.sha256 == sha256 else None
