"""What distinguishes benchmark configurations of the same workload and model: a parameter, a field, mode or data."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from duckdb import DuckDBPyConnection

from aisbench_core.model import Mode
from aisbench_core.warehouse.measures.fingerprint import captured_speed, resolved_fields, resolved_speed
from aisbench_core.warehouse.queries.group_statistics import build_current_sql
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.values.boards import abbreviate_value

_OF_RUN = "runs.spec, runs.speed_parameters, runs.resolved, runs.passport"

Properties = Mapping[str, object]
"""What a fingerprint stands for, by name; without parameters where those of an imported result are unknown."""

_COLUMNS = ("mode", "dataset", "throughput_definition", "throughput_unit", "synthetic_data")


def find_distinctions(store: Store, region: str, fingerprints: Iterable[str], *, rehearsal: bool) -> Mapping[str, str]:
    """What distinguishes each configuration from others of these, as "batch_size=512", by fingerprint.

    Only runs of that region and kind are read. Configurations that no other resembles are left out, and so are
    properties that are unknown."""
    with store.moment() as cur:
        return list_distinctions(cur, region, fingerprints, rehearsal=rehearsal)


def list_distinctions(
    cur: DuckDBPyConnection, region: str, fingerprints: Iterable[str], *, rehearsal: bool
) -> Mapping[str, str]:
    """The same with a cursor."""
    unique = sorted(set(fingerprints))
    families = _fetch_families(cur, region, rehearsal, unique) if len(unique) > 1 else []
    return {fingerprint: text for family in families for fingerprint, text in _describe_differences(family).items()}


def _fetch_families(
    cur: DuckDBPyConnection, region: str, rehearsal: bool, fingerprints: Sequence[str]
) -> list[Mapping[str, Properties]]:
    """The properties of the configurations of properties workload and model that have several, by fingerprint."""
    # One run of properties configuration is read by its row id: a join by run_id would read the parameters of all runs.
    cur.execute(
        f"""
        with configurations as (
            select workload, model, fingerprint, min(latest_run_id) as run_id,
                {", ".join(f"any_value({name}) as {name}" for name in _COLUMNS)}
            from {build_current_sql(cur)}
            where region = ? and rehearsal = ? and fingerprint in (select unnest(?::VARCHAR[])) group by all),
        several as (
            from configurations qualify count(*) over (partition by workload, model) > 1)
        select several.workload, several.model, several.fingerprint, {_OF_RUN},
            {", ".join(f"several.{name}" for name in _COLUMNS)}
        from several join (from runs where rowid in (
            select rowid from runs where run_id in (select run_id from several))) as runs using (run_id)
        """,
        [region, rehearsal, fingerprints],
    )
    families: defaultdict[tuple[str, str], dict[str, Properties]] = defaultdict(dict)
    for workload, model, fingerprint, spec, speed, resolved, passport, *cells in cur.fetchall():
        parameters = resolved_speed(json.loads(speed), resolved) or {}
        properties = {
            **dict(zip(_COLUMNS, cells, strict=True)),
            **parameters,
            **resolved_fields(json.loads(spec), resolved),
            **captured_speed(passport, resolved),
        }
        families[workload, model][fingerprint] = properties
    return list(families.values())


def _describe_differences(family: Mapping[str, Properties]) -> Mapping[str, str]:
    names = dict.fromkeys(chain.from_iterable(family.values()))
    differing = [
        name for name in names if len({json.dumps(properties.get(name)) for properties in family.values()}) > 1
    ]
    # Cluster mode is what readers expect, so that only single_server is named.
    hidden = (None, "", Mode.CLUSTER)
    return {
        fingerprint: ", ".join(
            f"{name}={abbreviate_value(str(properties[name]))}"
            for name in differing
            if properties.get(name) not in hidden
        )
        for fingerprint, properties in family.items()
    }
