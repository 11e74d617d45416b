"""Which content the audit's entries bind by its hash, beside the seals of run folders."""

from collections.abc import Mapping

from aisbench_core.store.ledger.database.connection import LedgerConnection

ANNOTATIONS = "annotations"
"""All changes in a run's file of annotations."""

HEX_DIGITS = 64


def bound_annotations(con: LedgerConnection) -> Mapping[str, tuple[int, str]]:
    """By run, the number of the newest entry that binds its annotations, and their hash.

    The hash is the last sentence of an entry that was done."""
    query = """select number, object, detail from audit where change in ('run.rename', 'run.tag', 'run.note',
        'run.set_aside', 'run.count_again', 'run.delete') and outcome = 'done' order by number"""
    found: dict[str, tuple[int, str]] = {}
    for row in con.execute(query):
        _, name, sha256 = str(row["detail"]).rpartition(f"{ANNOTATIONS} ")
        if name and len(sha256) == HEX_DIGITS:
            found[row["object"]] = row["number"], sha256
    return found
