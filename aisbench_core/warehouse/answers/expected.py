"""The band that a chip, workload and size usually reach, from the statistics that are kept of each configuration.

A configuration is a group: so the answer takes as long with a million runs as with a hundred."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from duckdb import DuckDBPyConnection

from aisbench_core.domain.statistics.prediction import Sample, predict_band
from aisbench_core.model import Origin, RunSpec, canonical_json
from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.answers.peers import group_ids
from aisbench_core.warehouse.queries.group_statistics import OF_GROUPS, build_current_sql
from aisbench_core.warehouse.values.expected import CHIP, SHARED, ExpectedSpeed, Likeness
from aisbench_core.warehouse.values.runs import RunRow


class _Kind(StrEnum):
    OWN = "own"
    TRUSTED = "trusted"
    CLAIMED = "claimed"


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The runs of a configuration that have one kind of witness."""

    group: int
    kind: _Kind
    sample: Sample
    software: tuple[str, str, str]
    at: datetime


def expect_run(cur: DuckDBPyConnection, run: RunRow) -> ExpectedSpeed | None:
    """What runs like this one reach, itself left out; None for a run without a throughput."""
    if run.throughput is None:
        return None
    like = Likeness({name: getattr(run, name) for name in (*SHARED, *CHIP)}, run.synthetic_data, None)
    (group,) = group_ids([run])
    kind = _Kind.OWN if run.origin is Origin.LAUNCHED else _Kind.TRUSTED if run.verified_by else _Kind.CLAIMED
    found = list[_Evidence]()
    for each in _find_evidence(cur, like, group):
        is_own = each.group == group and each.kind is kind and run.validity.counts
        rest = each.sample.leave_out(run.throughput) if is_own else each.sample
        found += [replace(each, sample=rest)] if rest else []
    return replace(_combine_evidence(like, found, group), value=run.throughput)


def expect_spec(cur: DuckDBPyConnection, like: Likeness, spec: RunSpec) -> ExpectedSpeed:
    """What a run of this spec would usually reach."""
    found = _find_evidence(cur, like)
    own = [each for each in found if each.software == _software_of(spec)]
    return _combine_evidence(like, found, max(own, key=lambda each: each.at).group if own else None)


def _software_of(spec: RunSpec) -> tuple[str, str, str]:
    return spec.framework_version, spec.flavor, spec.pool_id


def _combine_evidence(like: Likeness, found: Sequence[_Evidence], group: int | None) -> ExpectedSpeed:
    """`group`: the configuration itself."""
    counted = [each for each in found if each.kind is not _Kind.CLAIMED]
    claims = sorted((each for each in found if each.kind is _Kind.CLAIMED), key=lambda each: -each.sample.count)
    own = [each for each in counted if each.group == group]
    band = predict_band(
        own[0].sample if own else None, [each.sample for each in counted if not own or each is not own[0]]
    )
    used = own[:1] if band and band.configurations == 1 else counted
    runs = {kind: sum(each.sample.count for each in used if each.kind is kind) for kind in _Kind}
    claimed = predict_band(claims[0].sample, [each.sample for each in claims[1:]]) if claims else None
    return ExpectedSpeed(str(like.values["throughput_unit"]), band, runs[_Kind.OWN], runs[_Kind.TRUSTED], claimed)


def _find_evidence(cur: DuckDBPyConnection, like: Likeness, group: int | None = None) -> list[_Evidence]:
    """Launched configurations as they are kept, imported ones by who signed them; a group's runs share everything.

    `group`: the one whose parameters the others must have, in place of those of `like`."""
    chip = next((name for name in CHIP if like.values[name]), None)
    if chip is None:
        return []
    shared = " and ".join(f"grouped.{name} is not distinct from ${name}" for name in SHARED)
    cur.execute(
        f"""
        select grouped.group_id, grouped.origin, grouped.framework_version, grouped.flavor, grouped.pool_id,
            grouped.newest_at, grouped.runs, grouped.mean, grouped.sd, newest.speed_parameters
        from {build_current_sql(cur)} grouped join runs newest on newest.run_id = grouped.newest_run_id
        where grouped.{chip} = $chip and {shared}
            and ($synthetic_data is null or grouped.synthetic_data = $synthetic_data)
        order by grouped.group_id
        """,  # names of ours
        {name: like.values[name] for name in SHARED}
        | {"chip": like.values[chip], "synthetic_data": like.synthetic_data},
    )
    rows = [(*row[:-1], canonical_json(json.loads(row[-1]))) for row in cur.fetchall()]
    own = next((row[-1] for row in rows if row[0] == group), canonical_json(None))
    wanted = canonical_json(dict(like.speed_parameters)) if like.speed_parameters is not None else own
    rows = [row for row in rows if row[-1] == wanted != canonical_json(None) and row[6]]
    imported = _split_imported(cur, [row[0] for row in rows if row[1] != Origin.LAUNCHED])
    found = []
    for each, _, version, flavor, pool_id, at, runs, mean, sd, _ in rows:
        for kind, sample in imported.get(each, [(_Kind.OWN, Sample(runs, mean, sd or 0.0))]):
            if sample.mean > 0:
                found.append(_Evidence(each, kind, sample, (version, flavor, pool_id), at))
    return found


def _split_imported(cur: DuckDBPyConnection, groups: Sequence[int]) -> dict[int, list[tuple[_Kind, Sample]]]:
    if not groups:
        return {}
    cur.execute(
        f"""
        select group_id, coalesce(launch->>'$.verified_by', '') <> '' as verified, count(throughput_cluster),
            avg(throughput_cluster), stddev_samp(throughput_cluster)
        from runs join results using (run_id)
        where {COUNTED} and throughput_cluster is not null and {OF_GROUPS} group by all order by all
        """,
        {"groups": list(groups)},
    )
    found: dict[int, list[tuple[_Kind, Sample]]] = {group: [] for group in groups}
    for group, verified, count, mean, sd in cur.fetchall():
        found[group].append((_Kind.TRUSTED if verified else _Kind.CLAIMED, Sample(count, mean, sd or 0.0)))
    return found
