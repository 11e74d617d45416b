"""Passports of runs, and how they differ."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.model import PASSPORT_GROUPS, Passport
from aisbench_core.warehouse.records.runs import specs_of
from aisbench_core.warehouse.values.compared import FieldValues


def find_passports(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> Mapping[str, Passport]:
    """Those of the runs that have one, by run_id."""
    found = specs_of(cur, run_ids)
    return {run_id: passport for run_id in run_ids if run_id in found and (passport := found[run_id].passport)}


def compare_captured(passports: Sequence[Passport | None]) -> tuple[FieldValues, ...]:
    """The facts that differ between runs with a passport, those first that decide speed most."""
    facts = [None if passport is None else passport.facts for passport in passports]
    names = {name for one in facts if one is not None for name in one}
    order = {group: place for place, group in enumerate(PASSPORT_GROUPS)}
    values = {name: [None if one is None else one.get(name, "") for one in facts] for name in names}
    differing = [name for name in names if len({value for value in values[name] if value is not None}) > 1]
    differing.sort(key=lambda name: (order.get(name.partition(".")[0], len(order)), name))
    return tuple(FieldValues(name, tuple(values[name])) for name in differing)
