"""Which runs a question is about: one SQL condition for screen, list and export."""

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.errors import Problem, SpecError
from aisbench_core.messages import Message
from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.answers.group_statistics import counted, current
from aisbench_core.warehouse.values import BoardQuery

KIND = "region = $region and rehearsal = $rehearsal"
"""One region, and of it either measurements or rehearsals: never both in one answer."""

_OF_GROUPS = {
    "models": ("len($models::VARCHAR[]) = 0", "list_contains($models::VARCHAR[], model)"),
    "workloads": ("len($workloads::VARCHAR[]) = 0", "list_contains($workloads::VARCHAR[], workload)"),
    "framework_versions": (
        "len($framework_versions::VARCHAR[]) = 0",
        "list_contains($framework_versions::VARCHAR[], framework_version)",
    ),
    "flavors": ("len($flavors::VARCHAR[]) = 0", "list_contains($flavors::VARCHAR[], flavor)"),
    "node_counts": ("len($node_counts::INTEGER[]) = 0", "list_contains($node_counts::INTEGER[], node_count)"),
    "fingerprint": ("$fingerprint = ''", "fingerprint = $fingerprint"),
    "synthetic_data": ("$synthetic_data::BOOLEAN is null", "synthetic_data = $synthetic_data::BOOLEAN"),
    "origin": ("$origin = ''", "origin = $origin"),
}
"""Each filter, when it filters nothing, and what it demands of a group."""

CHOSEN_GROUPS = " and ".join([KIND, *(f"({nothing} or {demand})" for nothing, demand in _OF_GROUPS.values())])
"""What decides over a whole group of runs at once."""

SAID = """
    (len($tags::VARCHAR[]) = 0 or list_has_all(from_json(tags, '["VARCHAR"]'), $tags::VARCHAR[]))
    and ($text = '' or contains(lower(concat_ws(
        ' ', run_id, job_name, created_by, title, model, workload, framework_version, flavor)), lower($text)))
"""
"""What decides run by run: tags, and a text in what people call it."""

CHOSEN = f"group_id in (select group_id from standings where {CHOSEN_GROUPS}) and {SAID}"

WORTH = f"(case when $validity = '' then $include_invalid or {COUNTED} else validity = $validity end)"
"""What a run's result must be worth, on top of CHOSEN: valid or claimed, exactly this, or anything."""

Parameters = dict[str, object]


def kind(cur: DuckDBPyConnection, region: str, rehearsal: bool | None) -> Parameters:
    """The values that KIND names: by default the region's measurements, and its rehearsals if it has nothing else."""
    if rehearsal is None:
        row = cur.execute(f"select bool_and(rehearsal) from {current(cur)} where region = ?", [region]).fetchone()
        rehearsal = bool(row and row[0])
    return {"region": region, "rehearsal": rehearsal}


def parameters(cur: DuckDBPyConnection, query: BoardQuery) -> Parameters:
    """The values that CHOSEN names."""
    return {
        **kind(cur, query.region, query.rehearsal),
        "models": list(query.models),
        "workloads": list(query.workloads),
        "framework_versions": list(query.framework_versions),
        "flavors": list(query.flavors),
        "node_counts": list(query.node_counts),
        "fingerprint": query.fingerprint,
        "synthetic_data": query.synthetic_data,
        "origin": query.origin or "",
        "tags": list(query.tags),
        "text": query.text,
    }


def groups_asked(chosen: Parameters) -> tuple[str, Parameters]:
    """CHOSEN_GROUPS without the filters that filter nothing, which is quicker to plan, and the values that it names."""
    asked = {name: chosen[name] for name in _OF_GROUPS if chosen[name] not in ([], "", None)}
    demands = [KIND, *(_OF_GROUPS[name][1] for name in asked)]
    return " and ".join(demands), {"region": chosen["region"], "rehearsal": chosen["rehearsal"], **asked}


def worth(query: BoardQuery) -> Parameters:
    """The values that WORTH names."""
    return {"validity": query.validity or "", "include_invalid": query.include_invalid}


def standings_of(cur: DuckDBPyConnection, query: BoardQuery) -> str:
    """The standings of the groups that the query chooses; with a text or tags, those of the runs that hold it.

    Names the same parameters either way."""
    if query.text or query.tags:
        return f"({counted(CHOSEN)})"
    return f"(select * from {current(cur)} where {CHOSEN_GROUPS} and $text = '' and len($tags::VARCHAR[]) = 0)"


def order(query: BoardQuery, sorts: Sequence[str], names: Mapping[str, str] | None = None) -> str:
    """`<column> asc|desc nulls last`. Raises SpecError unless `sorts` holds the column and the page makes sense.

    `names`: what tables call the columns."""
    problems = []
    if query.sort not in sorts:
        problems.append(Problem("sort", Message("must be one of {sorts}", sorts=", ".join(sorts)), repr(query.sort)))
    if query.limit < 1:
        problems.append(Problem("limit", Message("must be at least 1"), str(query.limit)))
    if query.offset < 0:
        problems.append(Problem("offset", Message("must not be negative"), str(query.offset)))
    if problems:
        raise SpecError(Message("query"), problems)
    return f"{(names or {}).get(query.sort, query.sort)} {'desc' if query.descending else 'asc'} nulls last"
