"""Conditions on parameters and numbers of runs as SQL: names and values are bound, never written."""

from collections.abc import Sequence

from aisbench_core.warehouse.values.conditions import NUMBERS, Condition

Parameters = dict[str, object]

# Those that decide speed are stored with their defaults, and are equal in all runs of a group: JSON is parsed once for
# each group. Of others only what somebody set is known.
_BY_PARAMETER = """run_id in (
    select run_id from runs join (
        select group_id, json_extract_string(any_value(speed_parameters), ${key}_speed) as speed
        from runs group by group_id) using (group_id)
    where case when speed is not null then {of_group} else {of_run} end)"""

_WITHIN = "between ${key}_low::DOUBLE and ${key}_high::DOUBLE"

_BY_COLUMN = "run_id in (select run_id from runs join results using (run_id) where ({value}) {within})"
_BY_METRIC = "run_id in (select run_id from run_metrics where name = ${key}_metric and value {within})"


def build_conditions_sql(conditions: Sequence[Condition]) -> str:
    """All conditions, each with `and` before it, over any relation that has `run_id`; empty without any."""
    return "".join(f" and {_build_sql(f'where_{number}', one)}" for number, one in enumerate(conditions))


def condition_parameters(conditions: Sequence[Condition]) -> Parameters:
    """The values for `build_conditions_sql`."""
    values: Parameters = {}
    for number, condition in enumerate(conditions):
        key = f"where_{number}"
        if condition.metric:
            values[f"{key}_metric"] = condition.metric
        if condition.parameter:
            path = f'"{condition.parameter}"'
            values |= {f"{key}_set": f"$.parameters.{path}", f"{key}_speed": f"$.{path}"}
        if condition.value is not None:
            values[f"{key}_value"] = condition.value
        else:
            values |= {f"{key}_low": condition.low, f"{key}_high": condition.high}
    return values


def _build_sql(key: str, condition: Condition) -> str:
    within = _WITHIN.format(key=key)
    if condition.metric:
        return _BY_METRIC.format(key=key, within=within)
    if not condition.parameter:
        return _BY_COLUMN.format(value=NUMBERS[condition.name].value, within=within)
    of_run = f"json_extract_string(spec, ${key}_set)"
    demand = "{value} = $" + key + "_value" if condition.value is not None else "try_cast({value} as DOUBLE) " + within
    demands = {"of_group": demand.format(value="speed"), "of_run": demand.format(value=of_run)}
    return _BY_PARAMETER.format(key=key, **demands)
