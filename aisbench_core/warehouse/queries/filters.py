"""Which runs a query is about: the same SQL conditions for pages, lists and exports."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.queries.conditions import build_conditions_sql, condition_parameters
from aisbench_core.warehouse.queries.group_statistics import build_current_sql, build_statistics_sql
from aisbench_core.warehouse.values.imported import ID
from aisbench_core.warehouse.values.runs import BoardQuery

# One region, and either measurements or rehearsals: never both in one answer.
KIND = "region = $region and rehearsal = $rehearsal"

_LISTS = dict.fromkeys(("models", "workloads", "framework_versions", "flavors"), "VARCHAR") | {"node_counts": "INTEGER"}

# Each filter on groups: the test that it is off, and its condition.
_OF_GROUPS = {
    **{
        name: (f"len(${name}::{kind}[]) = 0", f"list_contains(${name}::{kind}[], {name.removesuffix('s')})")
        for name, kind in _LISTS.items()
    },
    "fingerprint": ("$fingerprint = ''", "fingerprint = $fingerprint"),
    "synthetic_data": ("$synthetic_data::BOOLEAN is null", "synthetic_data = $synthetic_data::BOOLEAN"),
    "origin": ("$origin = ''", "origin = $origin"),
}

# The filters that all runs of a group pass, or none.
CHOSEN_GROUPS = " and ".join([KIND, *(f"({off} or {condition})" for off, condition in _OF_GROUPS.values())])

_SEARCHED = (
    *("run_id", "job_name", "created_by", "title", "model", "workload", "framework_version", "flavor"),
    f"strftime(imported_at, '{ID}')",
)

# The filters that single runs pass: all of the tags, and a text in any of the searched columns.
TEXT_AND_TAGS = f"""
    (len($tags::VARCHAR[]) = 0 or list_has_all(from_json(tags, '["VARCHAR"]'), $tags::VARCHAR[]))
    and ($text = '' or contains(lower(concat_ws(' ', {", ".join(_SEARCHED)})), lower($text)))
"""

# Groups are few: filtering them first leaves one integer to compare for each run.
CHOSEN = f"group_id in (select group_id from group_statistics where {CHOSEN_GROUPS}) and {TEXT_AND_TAGS}"


def choose_runs_sql(query: BoardQuery) -> str:
    """CHOSEN with the query's conditions, whose values are among those of `build_parameters`."""
    return f"{CHOSEN}{_build_single_sql(query)}"


# On top of CHOSEN: runs that count, runs of exactly this validity, or all.
OF_VALIDITY = f"(case when $validity = '' then $include_invalid or {COUNTED} else validity = $validity end)"

Parameters = dict[str, object]


def kind_parameters(cur: DuckDBPyConnection, region: str, rehearsal: bool | None) -> Parameters:
    """The values for KIND: by default the region's measurements, or its rehearsals if it has nothing else."""
    if rehearsal is None:
        row = cur.execute(
            f"select bool_and(rehearsal) from {build_current_sql(cur)} where region = ?", [region]
        ).fetchone()
        rehearsal = bool(row and row[0])
    return {"region": region, "rehearsal": rehearsal}


def single_runs_sql(query: BoardQuery) -> str:
    """The filters that single runs pass: TEXT_AND_TAGS and the query's conditions."""
    return f"{TEXT_AND_TAGS}{_build_single_sql(query)}"


def _build_single_sql(query: BoardQuery) -> str:
    named = "" if query.run_ids is None else " and run_id in (select unnest($run_ids::VARCHAR[]))"
    return f"{named}{build_conditions_sql(query.where)}"


def single_run_parameters(query: BoardQuery) -> Parameters:
    """The values for `single_runs_sql`."""
    named = {} if query.run_ids is None else {"run_ids": list(query.run_ids)}
    return {"tags": list(query.tags), "text": query.text, **named, **condition_parameters(query.where)}


def build_parameters(cur: DuckDBPyConnection, query: BoardQuery) -> Parameters:
    """The values for `choose_runs_sql`."""
    return {
        **kind_parameters(cur, query.region, query.rehearsal),
        **single_run_parameters(query),
        **{name: list(getattr(query, name)) for name in _LISTS},
        "fingerprint": query.fingerprint,
        "synthetic_data": query.synthetic_data,
        "origin": query.origin or "",
    }


def active_filters(chosen: Parameters) -> tuple[str, Parameters]:
    """CHOSEN_GROUPS without the filters that are off, which takes less time to plan, and its values."""
    active = {name: chosen[name] for name in _OF_GROUPS if chosen[name] not in ([], "", None)}
    conditions = [KIND, *(_OF_GROUPS[name][1] for name in active)]
    return " and ".join(conditions), {"region": chosen["region"], "rehearsal": chosen["rehearsal"], **active}


def validity_parameters(query: BoardQuery) -> Parameters:
    """The values for OF_VALIDITY."""
    return {"validity": query.validity or "", "include_invalid": query.include_invalid}


def statistics_of(cur: DuckDBPyConnection, query: BoardQuery) -> str:
    """The statistics of the query's groups; with a text, tags or conditions, over the runs that pass these only."""
    if query.chooses_single_runs:
        return f"({build_statistics_sql(choose_runs_sql(query))})"
    # The values for text and tags are passed in any case, and DuckDB refuses those that a statement does not name.
    return (
        f"(select * from {build_current_sql(cur)} where {CHOSEN_GROUPS} and $text = '' and len($tags::VARCHAR[]) = 0)"
    )


def build_order_sql(query: BoardQuery, sorts: Sequence[str], columns: Mapping[str, str] | None = None) -> str:
    """`<column> asc|desc nulls last`. Raises SpecError unless the sort is one of `sorts` and the page is possible.

    `columns`: SQL for sorts that are not columns themselves."""
    problems = []
    if query.sort not in sorts:
        problems.append(Problem("sort", Message("must be one of {sorts}", sorts=", ".join(sorts)), repr(query.sort)))
    if query.limit < 1:
        problems.append(Problem("limit", Message("must be at least 1"), str(query.limit)))
    if query.offset < 0:
        problems.append(Problem("offset", Message("must not be negative"), str(query.offset)))
    if problems:
        raise SpecError(Message("query"), problems)
    # One of ours by now, so that it can be part of the statement.
    return f"{(columns or {}).get(query.sort, query.sort)} {'desc' if query.descending else 'asc'} nulls last"
