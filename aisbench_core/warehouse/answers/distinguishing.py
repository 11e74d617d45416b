"""What tells questions apart that look alike: workload and model are the same, and a parameter, the mode or the data
are not."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from duckdb import DuckDBPyConnection

from aisbench_core.model import Mode
from aisbench_core.warehouse.answers.group_statistics import current
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake

Facts = Mapping[str, object]
"""What decides a question, by name; without parameters where an imported result does not tell them."""

_DECIDED = ("mode", "dataset", "throughput_definition", "throughput_unit", "synthetic_data")


class Distinguishing:
    """Answers for one warehouse; raises as the warehouse's own methods do."""

    def __init__(self, connection: Connection | Lake) -> None:
        self._connection = connection

    def parameters(self, region: str, fingerprints: Iterable[str], *, rehearsal: bool) -> Mapping[str, str]:
        """By which facts a question differs from others of these, as "batch_size=512", by fingerprint.

        Only runs of that kind and region count: elsewhere fewer of these may be known, or less of them. Questions that
        no other looks like are left out; so is what a question does not know of itself."""
        asked = sorted(set(fingerprints))
        if len(asked) < 2:
            return {}
        with self._connection.moment() as cur:
            return {
                name: text for alike in _alike(cur, [region, rehearsal, asked]) for name, text in _told(alike).items()
            }


def _alike(cur: DuckDBPyConnection, asked: Sequence[object]) -> list[Mapping[str, Facts]]:
    """The facts of questions that look alike, where there are several."""
    cur.execute(
        f"""
        with questions as (
            select workload, model, fingerprint, min(latest_run_id) as run_id,
                {", ".join(f"any_value({name}) as {name}" for name in _DECIDED)}
            from {current(cur)}
            where region = ? and rehearsal = ? and fingerprint in (select unnest(?::VARCHAR[])) group by all),
        several as (
            from questions qualify count(*) over (partition by workload, model) > 1)
        select {", ".join(f"several.{name}" for name in _DECIDED)},
            several.workload, several.model, several.fingerprint, runs.speed_parameters
        from several join (from runs where rowid in (
            select rowid from runs where run_id in (select run_id from several))) as runs using (run_id)
        """,
        asked,
    )
    families: defaultdict[tuple[object, ...], dict[str, Facts]] = defaultdict(dict)
    for *cells, fingerprint, speed in cur.fetchall():
        decided, family = cells[: len(_DECIDED)], cells[len(_DECIDED) :]
        families[tuple(family)][fingerprint] = {
            **dict(zip(_DECIDED, decided, strict=True)),
            **(json.loads(speed) or {}),
        }
    return list(families.values())


def _told(alike: Mapping[str, Facts]) -> Mapping[str, str]:
    """A cluster is what everybody expects, so only single servers are told."""
    names = dict.fromkeys(chain.from_iterable(alike.values()))
    differing = [name for name in names if len({json.dumps(facts.get(name)) for facts in alike.values()}) > 1]
    return {
        fingerprint: ", ".join(
            f"{name}={facts[name]}" for name in differing if facts.get(name) not in (None, "", Mode.CLUSTER)
        )
        for fingerprint, facts in alike.items()
    }
