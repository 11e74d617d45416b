"""What the rules about series look at: all runs of a series on one node count, in one version and image, together.

They say whether the repeats count as one measurement; what a single run is worth is decided without them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import median
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from aisbench_core.messages import Message, joined
from aisbench_core.model import Division
from aisbench_core.rulesets.ruleset import (
    Accuracy,
    Apart,
    Consequence,
    Missed,
    Outliers,
    RunCount,
    SpreadRule,
    ValidityRule,
)
from aisbench_core.warehouse.answers.filters import CHOSEN, parameters
from aisbench_core.warehouse.checks import NONE, listed, target_of
from aisbench_core.warehouse.records.throughput import variation
from aisbench_core.warehouse.validity.judging import Judge
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import BoardQuery, Check, CheckLevel

_SAME = ("fingerprint", "accelerator", "flavor", "pool_id", "cards_per_node")
_ROW = 4
"""The first columns tell the rows of a series apart, as its plan does."""

_RUNS = f"""
    with members as materialized (
        select * from runs join results using (run_id) where {{chosen}} and series_id <> ''),
    suspects as materialized (
        select run_id, fingerprint, origin, created_at from runs join results using (run_id)
        where (fingerprint, throughput_cluster) in (select (fingerprint, throughput_cluster) from members)),
    vectors as materialized (
        select run_id, count(*) as many,
            md5(string_agg(concat(server, '/', rank, '=', throughput), ';' order by server, rank)) as cards
        from rank_results where run_id in (select run_id from members) or run_id in (select run_id from suspects)
        group by run_id),
    copies as (
        select member.run_id, min_by(earlier.run_id, (earlier.created_at, earlier.run_id)) as copy_of
        from members member join vectors mine using (run_id)
        join suspects earlier on earlier.fingerprint = member.fingerprint
            and (earlier.created_at, earlier.run_id) < (member.created_at, member.run_id)
            and (earlier.origin = 'launched' or member.origin = 'imported')
        join vectors theirs on theirs.run_id = earlier.run_id and theirs.cards = mine.cards
        where mine.many > 1 group by member.run_id)
    select series_id, node_count, framework_version,
        image,
        run_id, workload, model, validity = 'valid' as valid, rehearsal,
        system->>'$.division' as division, {", ".join(_SAME)}, code_sha256, dataset_sha256, synthetic_data,
        spec->>'$.parameters.seed' as seed, throughput_cluster as throughput, accuracy_measured as accuracy,
        accuracy_target, accuracy_target_source, case when raw <> '' then md5(raw) end as content, cards, copy_of,
        coalesce(started_at, submitted_at, created_at) as began, coalesce(ended_at, started_at, created_at) as ended
    from members left join vectors using (run_id) left join copies using (run_id)
    order by series_id, node_count, framework_version, image, began, run_id
"""


class Member(NamedTuple):
    """One run of a series."""

    series_id: str
    node_count: int | None
    framework_version: str
    image: str
    run_id: str
    workload: str
    model: str
    valid: bool
    rehearsal: bool
    division: str | None
    fingerprint: str
    accelerator: str
    flavor: str
    pool_id: str
    cards_per_node: int | None
    code_sha256: str
    dataset_sha256: str
    synthetic_data: bool
    seed: str | None
    throughput: float | None
    accuracy: float | None
    accuracy_target: float | None
    accuracy_target_source: str
    content: str | None
    cards: str | None
    copy_of: str | None
    began: datetime
    ended: datetime


Members = Sequence[Member]
Look = Callable[[Members, Any, Judge], tuple[bool, str, str, str] | None]
"""Whether the rule is fulfilled, what it expects, what it found, and where; None when there is nothing to look at."""


def of_query(cur: DuckDBPyConnection, query: BoardQuery, judge: Judge) -> tuple[SeriesVerdict, ...]:
    """The verdict on every row of every series among the runs of the query's filters, and on no other run."""
    return _verdicts(cur, CHOSEN, parameters(cur, query), judge)


def of_series(cur: DuckDBPyConnection, series_ids: Sequence[str], judge: Judge) -> tuple[SeriesVerdict, ...]:
    """The verdict on every row of these series, over all of their runs."""
    named = "series_id in (select unnest($series_ids::VARCHAR[]))"
    return _verdicts(cur, named, {"series_ids": list(series_ids)}, judge) if series_ids else ()


def _verdicts(
    cur: DuckDBPyConnection, chosen: str, named: Mapping[str, object], judge: Judge
) -> tuple[SeriesVerdict, ...]:
    cur.execute(_RUNS.format(chosen=chosen), dict(named))
    members = [Member._make(row) for row in cur.fetchall()]
    return tuple(_verdict(list(found), judge) for _, found in groupby(members, key=lambda member: member[:_ROW]))


def _verdict(members: Members, judge: Judge) -> SeriesVerdict:
    closed = all(member.division == Division.CLOSED and not member.rehearsal for member in members)
    first = members[0]
    return SeriesVerdict(
        first.series_id,
        first.node_count,
        first.framework_version,
        first.image,
        run_ids=tuple(member.run_id for member in members),
        valid=sum(member.valid for member in members),
        ruleset_id=judge.ruleset.id,
        ruleset_basis=judge.ruleset.basis,
        checks=tuple(_checks(members, judge, Division.CLOSED if closed else Division.OPEN)),
    )


def _checks(members: Members, judge: Judge, division: Division) -> Iterator[Check]:
    for rule_id, look in LOOKS.items():
        rule: ValidityRule | None = judge.ruleset.rules.get(rule_id)
        level = rule.of(division) if rule else Consequence.OFF
        found = look(members, rule, judge) if level is not Consequence.OFF else None
        if found:
            fulfilled, expected, said, where = found
            yield Check(rule_id, CheckLevel.OK if fulfilled else CheckLevel(level.value), expected, said, where)


def _run_count(members: Members, rule: RunCount, _: Judge) -> tuple[bool, str, str, str]:
    needed = rule.by_model.get(members[0].workload, rule.by_model.get(members[0].model, rule.runs))
    valid = sum(member.valid for member in members)
    expected = Message("{count} valid runs", count=needed)
    return valid >= needed, expected, Message("{count} of {total} runs", count=valid, total=len(members)), ""


def _missed(members: Members, rule: Missed, judge: Judge) -> tuple[bool, str, str, str]:
    """Of all runs that measured an accuracy: where a missed target makes a run invalid, it is a missed target still."""
    measured = [member for member in members if member.accuracy is not None]
    missed = [member.run_id for member in measured if _misses(member, judge)]
    expected = Message("at most {count} below the target", count=rule.most)
    found = Message("{count} of {total} runs with an accuracy", count=len(missed), total=len(measured))
    return len(missed) <= rule.most, expected, found, listed(missed)


def _misses(member: Member, judge: Judge) -> bool:
    rule = judge.ruleset.run.V06
    own, source = member.accuracy_target, member.accuracy_target_source
    target = target_of(member.workload, member.model, own, source, rule)[0] if isinstance(rule, Accuracy) else own
    return target is not None and member.accuracy is not None and member.accuracy < target


def _same(members: Members, _: ValidityRule, __: Judge) -> tuple[bool, str, str, str] | None:
    names, counted = (*_SAME, "code_sha256", "synthetic_data"), _counted(members)
    differing = [name for name in names if len({getattr(member, name) for member in counted}) > 1]
    found = "; ".join(differing) or Message("all are")
    return (not differing, Message("every run the same"), found, "") if counted else None


def _counted(members: Members) -> Members:
    """The runs whose numbers are taken together. One that failed early knows neither code nor data."""
    return [member for member in members if member.valid]


def _seeds(members: Members, _: ValidityRule, __: Judge) -> tuple[bool, str, str, str]:
    seeds = [member.seed for member in members]
    unique = None not in seeds and len(set(seeds)) == len(seeds)
    found = joined(", ", [seed or NONE for seed in seeds])
    return unique, Message("a seed of its own for each run"), found, ""


def _data(members: Members, _: ValidityRule, __: Judge) -> tuple[bool, str, str, str] | None:
    known = sorted({member.dataset_sha256 for member in _counted(members)})
    if not known:
        return None
    found = joined(", ", [sha256[:12] or NONE for sha256 in known])
    return len(known) == 1 and known != [""], Message("one data set, known by its hash"), found, ""


def _outliers(members: Members, rule: Outliers, _: Judge) -> tuple[bool, str, str, str] | None:
    measured = [(member.run_id, member.throughput) for member in members if member.valid and member.throughput]
    if len(measured) < 3:  # of two, nobody knows which one is off
        return None
    middle = median(value for _, value in measured)
    spread = median(abs(value - middle) for _, value in measured)
    far = [run_id for run_id, value in measured if abs(value - middle) > rule.deviations * spread > 0]
    expected = Message("within {number} deviations of the median", number=f"{rule.deviations:g}")
    return not far, expected, Message("{count} outside", count=len(far)), listed(far)


def _spread(members: Members, rule: SpreadRule, _: Judge) -> tuple[bool, str, str, str] | None:
    """Of the valid runs, and of all that measured a throughput: who leaves runs out gets a small one."""
    every = [member.throughput for member in members if member.throughput]
    valid = [member.throughput for member in members if member.throughput and member.valid]
    of_valid, of_every = variation(valid), variation(every)
    if of_every is None:
        return None
    most, cv = f"{rule.most:.2%}", f"{of_every:.2%}"
    expected = Message("CV at most {most}", most=most)
    if rule.inferred:
        expected = Message("CV at most {most} (inferred: no limit of the standard is known)", most=most)
    found = Message("CV {cv}", cv=cv)
    if of_valid is None:
        found = Message("CV {cv} of all {count} runs with a throughput", cv=cv, count=len(every))
    elif len(valid) < len(every):
        found = Message(
            "CV {cv_valid} of {valid} valid runs; CV {cv} of all {count} runs with a throughput",
            cv_valid=f"{of_valid:.2%}",
            valid=len(valid),
            cv=cv,
            count=len(every),
        )
    return max(of_valid or 0, of_every) <= rule.most, expected, found, ""


def _order(members: Members, _: ValidityRule, __: Judge) -> tuple[bool, str, str, str]:
    beside = [after.run_id for before, after in pairwise(members) if after.began < before.ended]
    found = Message("{count} began before the one before ended", count=len(beside))
    return not beside, Message("one run after another"), found, listed(beside)


def _apart(members: Members, rule: Apart, _: Judge) -> tuple[bool, str, str, str]:
    took = members[-1].began - members[0].began
    return (
        took <= timedelta(days=rule.days),
        Message("within {count} days", count=rule.days),
        Message("{count} days", count=math.ceil(took / timedelta(days=1))),
        "",
    )


def _copies(members: Members, _: ValidityRule, __: Judge) -> tuple[bool, str, str, str]:
    """By what the cards did, and by the text of the result; a copy may carry other times in its text.

    An earlier run with the same cards may be anywhere: in another row, in another series, or in none. What is imported
    proves nothing against what was launched. Single cards repeat by chance among many runs, so they are compared
    within the row alone."""
    texts = {
        member.run_id: (member.content, member.throughput, member.accuracy) for member in members if member.content
    }
    cards = {member.run_id: member.cards for member in members if member.cards}
    alike = _repeated(texts) | _repeated(cards)
    here = {member.run_id for member in members}
    elsewhere = {member.run_id: member.copy_of for member in members if member.copy_of and member.copy_of not in here}
    twice = [member.run_id for member in members if member.run_id in alike or member.run_id in elsewhere]
    where = [
        Message("{run} (as {other})", run=run_id, other=elsewhere[run_id]) if run_id in elsewhere else run_id
        for run_id in twice
    ]
    found = Message("{count} alike", count=len(twice))
    return not twice, Message("no result twice"), found, listed(where)


def _repeated(keys: Mapping[str, object]) -> set[str]:
    """The runs whose key another run has as well."""
    times = Counter(keys.values())
    return {run_id for run_id, key in keys.items() if times[key] > 1}


LOOKS: Mapping[str, Look] = {
    "V08": _run_count,
    "V09": _missed,
    "V11": _same,
    "V12": _seeds,
    "V14": _data,
    "V22": _outliers,
    "V27": _spread,
    "V28": _order,
    "V29": _apart,
    "V30": _copies,
}
"""Every rule about a series, by its id."""
