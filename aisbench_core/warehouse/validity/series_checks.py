"""The checks of series: of all runs of a row, on one node count, in one version and image, with one set of values.

They decide whether the repeats count as one measurement; the validity of a single run does not depend on them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import median
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.domain.rulesets.ruleset import (
    Accuracy,
    Consequence,
    Missed,
    Outliers,
    Ruleset,
    RunCount,
    SeriesSpan,
    SpreadRule,
    ValidityRule,
)
from aisbench_core.model import Division
from aisbench_core.warehouse.measures.throughput import compute_variation
from aisbench_core.warehouse.queries.filters import build_parameters, choose_runs_sql
from aisbench_core.warehouse.queries.group_statistics import AT
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.validity.run_checks import NONE, join_sentences, target_of
from aisbench_core.warehouse.values.runs import BoardQuery, Check, CheckLevel, SeriesEvaluation

# What the rows of a series differ in, as in its plan.
_ROW = ("series_id", "node_count", "framework_version", "image", "speed_parameters")

# What has to be equal in all runs of a row.
_SAME = ("fingerprint", "accelerator", "flavor", "pool_id", "cards_per_node", "code_sha256", "synthetic_data")


class Member(NamedTuple):
    """One run of a series. `cards` is a hash of its cards' throughputs, `content` one of its result's text."""

    row: tuple[Any, ...]
    same: tuple[Any, ...]
    run_id: str
    workload: str
    model: str
    valid: bool
    closed: bool
    dataset_sha256: str
    seed: str | None
    throughput: float | None
    accuracy: float | None
    accuracy_target: float | None
    content: str | None
    cards: str | None
    copy_of: str | None
    began: datetime
    ended: datetime


_SQL = {
    "valid": "validity = 'valid'",
    "closed": f"coalesce(system->>'$.division' = '{Division.CLOSED}' and not rehearsal, false)",
    "seed": "spec->>'$.parameters.seed'",
    "throughput": "throughput_cluster",
    "accuracy": "accuracy_measured",
    "content": "case when raw <> '' then md5(raw) end",
    "began": AT,
    "ended": "coalesce(ended_at, started_at, created_at)",
}
_CELLS = ", ".join(f"{_SQL.get(name, name)} as {name}" for name in Member._fields[2:])

# Only runs of one fingerprint with equal throughputs can have equal cards. They are few, so that few cards are hashed.
# An imported run is no evidence against a launched one.
_COPIES = """
    with members as materialized (
        select * from runs join results using (run_id) where {chosen} and series_id <> ''),
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
"""
_RUNS = f"""{_COPIES}
    select {", ".join((*_ROW, *_SAME))}, {_CELLS}
    from members left join vectors using (run_id) left join copies using (run_id)
    order by {", ".join(_ROW)}, began, run_id
"""


Members = Sequence[Member]
Result = tuple[bool, str, str, str]
"""Whether a check passed, what it expected, what it found, and evidence."""

CheckSeries = Callable[[Members, Any, Ruleset], Result | None]
"""Takes the runs, the rule and its ruleset; None when there is nothing to check."""


def of_query(cur: DuckDBPyConnection, query: BoardQuery, evaluator: Evaluator) -> tuple[SeriesEvaluation, ...]:
    """Every row of every series, over those of its runs that the query's filters choose."""
    return _evaluate_members(cur, choose_runs_sql(query), build_parameters(cur, query), evaluator)


def of_series(cur: DuckDBPyConnection, series_ids: Sequence[str], evaluator: Evaluator) -> tuple[SeriesEvaluation, ...]:
    """Every row of these series, over all of its runs."""
    condition = "series_id in (select unnest($series_ids::VARCHAR[]))"
    return _evaluate_members(cur, condition, {"series_ids": list(series_ids)}, evaluator) if series_ids else ()


def _evaluate_members(
    cur: DuckDBPyConnection, condition: str, parameters: Mapping[str, object], evaluator: Evaluator
) -> tuple[SeriesEvaluation, ...]:
    cur.execute(_RUNS.format(chosen=condition), dict(parameters))
    row, same = len(_ROW), len(_ROW) + len(_SAME)
    members = (Member(cells[:row], cells[row:same], *cells[same:]) for cells in cur.fetchall())
    ruleset = evaluator.ruleset
    return tuple(_evaluate_row(list(runs), ruleset) for _, runs in groupby(members, key=lambda member: member.row))


def _evaluate_row(members: Members, ruleset: Ruleset) -> SeriesEvaluation:
    division = Division.CLOSED if all(member.closed for member in members) else Division.OPEN
    series_id, node_count, version, image, *_ = members[0].row
    return SeriesEvaluation(
        series_id,
        node_count,
        version,
        image,
        run_ids=tuple(member.run_id for member in members),
        valid=sum(member.valid for member in members),
        ruleset_id=ruleset.id,
        ruleset_basis=ruleset.basis,
        fingerprints=tuple(sorted({member.same[_SAME.index("fingerprint")] for member in members})),
        checks=tuple(_iter_checks(members, ruleset, division)),
    )


def _iter_checks(members: Members, ruleset: Ruleset, division: Division) -> Iterator[Check]:
    for rule_id, check in SERIES_CHECKS.items():
        rule: ValidityRule | None = ruleset.rules.get(rule_id)
        level = rule.of(division) if rule else Consequence.OFF
        result = check(members, rule, ruleset) if level is not Consequence.OFF else None
        if result:
            passed, *texts = result
            yield Check(rule_id, CheckLevel.OK if passed else CheckLevel(level.value), *texts)


def _run_count(members: Members, rule: RunCount, _: Ruleset) -> Result:
    needed = rule.by_model.get(members[0].workload, rule.by_model.get(members[0].model, rule.runs))
    valid = sum(member.valid for member in members)
    expected = Message("{count} valid runs", count=needed)
    return valid >= needed, expected, Message("{count} of {total} runs", count=valid, total=len(members)), ""


def _check_missed(members: Members, rule: Missed, ruleset: Ruleset) -> Result:
    # Invalid runs too: a missed target may be what makes them invalid.
    measured = [member for member in members if member.accuracy is not None]
    missed = []
    for member in measured:
        target = member.accuracy_target
        if isinstance(ruleset.run.V06, Accuracy):
            target, _ = target_of(member.workload, member.model, target, "", ruleset.run.V06)
        if target is not None and member.accuracy is not None and member.accuracy < target:
            missed.append(member.run_id)
    expected = Message("at most {count} below the target", count=rule.most)
    actual = Message("{count} of {total} runs with an accuracy", count=len(missed), total=len(measured))
    return len(missed) <= rule.most, expected, actual, join_sentences(missed)


def _check_same(members: Members, _: ValidityRule, __: Ruleset) -> Result | None:
    counted = _filter_valid(members)
    differing = [name for index, name in enumerate(_SAME) if len({member.same[index] for member in counted}) > 1]
    actual = "; ".join(differing) or Message("all are")
    return (not differing, Message("every run the same"), actual, "") if counted else None


def _filter_valid(members: Members) -> Members:
    # A run that failed early has no hash of code or data to compare.
    return [member for member in members if member.valid]


def _check_seeds(members: Members, _: ValidityRule, __: Ruleset) -> Result:
    seeds = [member.seed for member in members]
    unique = None not in seeds and len(set(seeds)) == len(seeds)
    actual = join_parts(", ", [seed or NONE for seed in seeds])
    return unique, Message("a seed of its own for each run"), actual, ""


def _check_data(members: Members, _: ValidityRule, __: Ruleset) -> Result | None:
    hashes = sorted({member.dataset_sha256 for member in _filter_valid(members)})
    if not hashes:
        return None
    actual = join_parts(", ", [sha256[:12] or NONE for sha256 in hashes])
    return len(hashes) == 1 and hashes != [""], Message("one data set, known by its hash"), actual, ""


def _check_outliers(members: Members, rule: Outliers, _: Ruleset) -> Result | None:
    measured = [(member.run_id, member.throughput) for member in members if member.valid and member.throughput]
    if len(measured) < 3:  # of two, either may be the outlier
        return None
    middle = median(value for _, value in measured)
    deviation = median(abs(value - middle) for _, value in measured)
    far = [run_id for run_id, value in measured if abs(value - middle) > rule.deviations * deviation > 0]
    expected = Message("within {number} deviations of the median", number=f"{rule.deviations:g}")
    return not far, expected, Message("{count} outside", count=len(far)), join_sentences(far)


def _check_spread(members: Members, rule: SpreadRule, _: Ruleset) -> Result | None:
    # Of all runs too: to leave runs out would make the spread of the others small.
    measured = [member.throughput for member in members if member.throughput]
    valid = [member.throughput for member in members if member.throughput and member.valid]
    of_valid, of_all = compute_variation(valid), compute_variation(measured)
    if of_all is None:
        return None
    most, cv = f"{100 * rule.most:.2f} %", f"{100 * of_all:.2f} %"
    expected = Message("CV at most {most}", most=most)
    if rule.inferred:
        expected = Message("CV at most {most} (inferred: no limit of the standard is known)", most=most)
    actual = Message("CV {cv}", cv=cv)
    if of_valid is None:
        actual = Message("CV {cv} of all {count} runs with a throughput", cv=cv, count=len(measured))
    elif len(valid) < len(measured):
        actual = Message(
            "CV {cv_valid} of {valid} valid runs; CV {cv} of all {count} runs with a throughput",
            cv_valid=f"{100 * of_valid:.2f} %",
            valid=len(valid),
            cv=cv,
            count=len(measured),
        )
    return max(of_valid or 0, of_all) <= rule.most, expected, actual, ""


def _check_order(members: Members, _: ValidityRule, __: Ruleset) -> Result:
    overlapping = [after.run_id for before, after in pairwise(members) if after.began < before.ended]
    actual = Message("{count} began before the one before ended", count=len(overlapping))
    return not overlapping, Message("one run after another"), actual, join_sentences(overlapping)


def _check_days(members: Members, rule: SeriesSpan, _: Ruleset) -> Result:
    period = members[-1].began - members[0].began
    actual = choose_plural(math.ceil(period / timedelta(days=1)), "{number} day", "{number} days")
    expected = choose_plural(rule.days, "within {number} day", "within {number} days")
    return period <= timedelta(days=rule.days), expected, actual, ""


def _check_copies(members: Members, _: ValidityRule, __: Ruleset) -> Result:
    """By the text of the result, and by the cards' throughputs, which stay when the times in a copied text are edited.

    The earlier run with the same cards may be in another row or series, or in none. A single card's throughput repeats
    by chance among many runs, so that runs with one card are compared within the row only."""
    texts = {
        member.run_id: (member.content, member.throughput, member.accuracy) for member in members if member.content
    }
    cards = {member.run_id: member.cards for member in members if member.cards}
    repeated = _find_repeated(texts) | _find_repeated(cards)
    own = {member.run_id for member in members}
    originals = {member.run_id: member.copy_of for member in members if member.copy_of and member.copy_of not in own}
    copies = [member.run_id for member in members if member.run_id in repeated or member.run_id in originals]
    evidence = [
        Message("{run} (as {other})", run=run_id, other=originals[run_id]) if run_id in originals else run_id
        for run_id in copies
    ]
    return (
        not copies,
        Message("no result twice"),
        Message("{count} identical", count=len(copies)),
        join_sentences(evidence),
    )


def _find_repeated(keys: Mapping[str, object]) -> set[str]:
    counts = Counter(keys.values())
    return {run_id for run_id, key in keys.items() if counts[key] > 1}


SERIES_CHECKS: Mapping[str, CheckSeries] = {
    "V08": _run_count,
    "V09": _check_missed,
    "V11": _check_same,
    "V12": _check_seeds,
    "V14": _check_data,
    "V22": _check_outliers,
    "V27": _check_spread,
    "V28": _check_order,
    "V29": _check_days,
    "V30": _check_copies,
}
