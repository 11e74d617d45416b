"""Which runs a question is about: one SQL condition for screen, list and export."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.errors import Problem, SpecError
from aisbench_core.warehouse.standings import counted, current
from aisbench_core.warehouse.values import BoardQuery

KIND = "region = $region and rehearsal = $rehearsal"
"""One region, and of it either measurements or rehearsals: never both in one answer."""

CHOSEN_GROUPS = f"""
    {KIND}
    and (len($models::VARCHAR[]) = 0 or list_contains($models::VARCHAR[], model))
    and (len($workloads::VARCHAR[]) = 0 or list_contains($workloads::VARCHAR[], workload))
    and (len($framework_versions::VARCHAR[]) = 0 or list_contains($framework_versions::VARCHAR[], framework_version))
    and (len($flavors::VARCHAR[]) = 0 or list_contains($flavors::VARCHAR[], flavor))
    and (len($node_counts::INTEGER[]) = 0 or list_contains($node_counts::INTEGER[], node_count))
    and ($fingerprint = '' or fingerprint = $fingerprint)
    and ($synthetic_data::BOOLEAN is null or synthetic_data = $synthetic_data::BOOLEAN)
    and ($origin = '' or origin = $origin)
"""
"""What decides over a whole group of runs at once."""

CHOSEN = f"""
    group_id in (select group_id from standings where {CHOSEN_GROUPS})
    and (len($tags::VARCHAR[]) = 0 or list_has_all(from_json(tags, '["VARCHAR"]'), $tags::VARCHAR[]))
    and ($text = '' or contains(lower(concat_ws(
        ' ', run_id, job_name, created_by, title, model, workload, framework_version, flavor)), lower($text)))
"""  # noqa: S608 (our own words)

WORTH = "(case when $validity = '' then $include_invalid or validity = 'valid' else validity = $validity end)"
"""What a run's result must be worth, on top of CHOSEN: valid, exactly this, or anything."""

Parameters = dict[str, object]


def kind(cur: DuckDBPyConnection, region: str, rehearsal: bool | None) -> Parameters:
    """The values that KIND names: by default the region's measurements, and its rehearsals if it has nothing else."""
    if rehearsal is None:
        row = cur.execute(f"select bool_and(rehearsal) from {current(cur)} where region = ?", [region]).fetchone()  # noqa: S608
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


def worth(query: BoardQuery) -> Parameters:
    """The values that WORTH names."""
    return {"validity": query.validity or "", "include_invalid": query.include_invalid}


def standings_of(cur: DuckDBPyConnection, query: BoardQuery) -> str:
    """The standings of the groups that the query chooses; with a text or tags, those of the runs that hold it.

    Names the same parameters either way."""
    if query.text or query.tags:
        return f"({counted(CHOSEN)})"
    return f"(select * from {current(cur)} where {CHOSEN_GROUPS} and $text = '' and len($tags::VARCHAR[]) = 0)"  # noqa: S608


def order(query: BoardQuery, sorts: Sequence[str]) -> str:
    """`<column> asc|desc nulls last`. Raises SpecError unless `sorts` holds the column and the page makes sense."""
    problems = []
    if query.sort not in sorts:
        problems.append(Problem("sort", f"must be one of {', '.join(sorts)}", repr(query.sort)))
    if query.limit < 1:
        problems.append(Problem("limit", "must be at least 1", str(query.limit)))
    if query.offset < 0:
        problems.append(Problem("offset", "must not be negative", str(query.offset)))
    if problems:
        raise SpecError("query", problems)
    return f"{query.sort} {'desc' if query.descending else 'asc'} nulls last"
