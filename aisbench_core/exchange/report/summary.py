"""The report's first sentences: what versions differ by, what was measured, which runs do not count, and why."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from aisbench_core.base.formats import MISSING, clip_text, format_decimal, format_percent, shorten_hash
from aisbench_core.base.messages import Hint, Message, choose_plural, join_parts
from aisbench_core.domain.statistics.difference import MeanDifference, compare_means
from aisbench_core.domain.statistics.sentences import Side, difference_sentence, not_compared_sentence
from aisbench_core.domain.statistics.summary import summarize_values
from aisbench_core.exchange.report.appendix import NumberedRun
from aisbench_core.exchange.report.cells import (
    MAX_NAME,
    describe_hardware,
    describe_software,
    format_ranges,
    format_system,
    is_counted,
    join_few,
    list_distinct,
    make_natural_key,
)
from aisbench_core.model.columns import GROUP_KEYS
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun
from aisbench_core.warehouse.values.boards import ASPECTS, mixed_or_unknown
from aisbench_core.warehouse.values.histories import TARGET_MISSED
from aisbench_core.warehouse.values.runs import Check, CheckLevel, Validity

# Of each kind, so that the first page has room for statistics and charts.
MAX_SENTENCES = 4

# Numbers and ranges of runs in one sentence; the tables have all of them.
MAX_NUMBERS = 8

# What distinguishes the sides of a comparison, as it distinguishes rows of the leaderboard.
_TESTED = ("framework", "framework_version", *(column for column in ASPECTS.values() if column != "accelerator"))
# What versions are compared within: the same measurement on the same hardware.
_MEASURED = ("model_name", *(name for name in GROUP_KEYS if name not in _TESTED))

_Group = list[ReportedRun]


def build_sentences(
    reported: Reported, numbered: Sequence[NumberedRun], distinctions: Mapping[str, str]
) -> tuple[Message, ...]:
    """Comparisons, or what was measured where there are none; then how many runs count, and why others do not.

    `distinctions`: what distinguishes benchmark configurations, by fingerprint."""
    lines: defaultdict[tuple[object, ...], defaultdict[tuple[object, ...], _Group]]
    lines = defaultdict(lambda: defaultdict(list))
    for run in reported.runs:
        if is_counted(run) and run.cells["throughput_cluster"] is not None:
            line, side = [tuple(run.cells[name] for name in names) for names in (_MEASURED, _TESTED)]
            lines[line][side].append(run)
    compared: list[tuple[MeanDifference, Message]] = []
    not_compared: list[Message] = []
    single: list[Message] = []
    for key in sorted(lines, key=make_natural_key):
        groups = [lines[key][side] for side in sorted(lines[key], key=make_natural_key)]
        distinction = distinctions.get(groups[0][0].cells["fingerprint"], "")
        pairs = list(_iterate_pairs(groups, distinction))
        not_compared += _not_compared(groups, distinction)
        compared += pairs
        single += [] if pairs else [_describe_measured(group, distinction) for group in groups]
    compared.sort(key=lambda pair: (pair[0].ci_low <= 0 <= pair[0].ci_high, -abs(pair[0].change)))
    return (
        *_limit_sentences([*(sentence for _, sentence in compared), *not_compared]),
        *([] if compared else _limit_sentences(single)),  # the statistics have these numbers, too
        _describe_counted(reported.runs),
        *_iterate_targets(numbered),
        *_limit_sentences([*_not_counting(numbered), *_iterate_series(reported)]),
    )


def _limit_sentences(found: Sequence[Message]) -> list[Message]:
    rest = len(found) - MAX_SENTENCES
    more = [choose_plural(rest, "{number} more: see the tables.", "{number} more: see the tables.")] if rest > 0 else []
    return [*found[:MAX_SENTENCES], *more]


def _iterate_pairs(groups: Sequence[_Group], distinction: str) -> Iterator[tuple[MeanDifference, Message]]:
    """Each version against the one before it."""
    for before, after in pairwise(groups):
        size = compare_means(_list_throughputs(before), _list_throughputs(after))
        if size and not _no_comparison(before, after):
            yield size, difference_sentence(size, *_build_sides(after, before, distinction))


def _not_compared(groups: Sequence[_Group], distinction: str) -> Iterator[Message]:
    """The pairs of versions that have a difference that means nothing, with the reason."""
    for before, after in pairwise(groups):
        reason = _no_comparison(before, after)
        if reason and compare_means(_list_throughputs(before), _list_throughputs(after)):
            yield not_compared_sentence(reason, *_build_sides(after, before, distinction))


def _no_comparison(*groups: _Group) -> Hint:
    """Why a difference of these would mean nothing; empty where it does."""
    has_missed = any(run.cells["converged"] is False for group in groups for run in group)
    return _describe_mixed(*groups) or (TARGET_MISSED if has_missed else "")


def _describe_mixed(*groups: _Group) -> Hint:
    return mixed_or_unknown(*(run.cells["not_known"] or "" for group in groups for run in group))


def _build_sides(after: _Group, before: _Group, distinction: str) -> tuple[Side, Side]:
    newer, older = _build_side(after, before, distinction), _build_side(before, after, distinction)
    if after[0].cells["framework"] == before[0].cells["framework"] and newer.version != older.version:
        # The sentence's subject has named model and framework.
        older = replace(older, version=clip_text(before[0].cells["framework_version"] or MISSING, MAX_NAME))
    return newer, older


def _build_side(group: _Group, other: _Group, distinction: str) -> Side:
    cells, others = group[0].cells, other[0].cells
    version = _format_version(cells, distinction)
    differing = [
        f"{aspect} {shorten_hash(str(cells[column] or MISSING))}"
        for aspect, column in ASPECTS.items()
        if cells[column] != others[column]
    ]
    return Side(clip_text(f"{version} ({', '.join(differing)})", MAX_NAME), version, format_system(cells), len(group))


def _format_version(cells: Cells, distinction: str) -> str:
    parts = (cells["model_name"], describe_software(cells), f"({distinction})" if distinction else "")
    return " ".join(clip_text(part, MAX_NAME) for part in parts if part)


def _list_throughputs(group: _Group) -> list[float]:
    return [run.cells["throughput_cluster"] for run in group]


def _describe_measured(group: _Group, distinction: str) -> Message:
    cells, found = group[0].cells, summarize_values(_list_throughputs(group))
    names = {
        "version": _format_version(cells, distinction),
        "system": format_system(cells),
        "unit": cells["throughput_unit"] or "",
    }
    mean = format_decimal(found.mean) if found else ""
    if mixed := _describe_mixed(group):
        return choose_plural(
            len(group),
            "{version} on {system}: median {median} {unit} ({mixed}; {number} run)",
            "{version} on {system}: median {median} {unit} ({mixed}; {number} runs)",
            median=format_decimal(median(_list_throughputs(group))),
            mixed=mixed,
            **names,
        )
    if found is None or found.ci_low is None or found.ci_high is None:
        return Message("{version} on {system}: {mean} {unit} (a single run)", mean=mean, **names)
    return Message(
        "{version} on {system}: median {median} {unit} (95 % interval of the mean: {low}–{high}; {runs} runs)",
        median=format_decimal(median(_list_throughputs(group))),
        low=format_decimal(found.ci_low),
        high=format_decimal(found.ci_high),
        runs=len(group),
        **names,
    )


def _describe_counted(runs: Sequence[ReportedRun]) -> Message:
    found = Counter(Validity(run.cells["validity"]) for run in runs)
    rulesets = dict.fromkeys((run.cells["ruleset_id"], run.cells["ruleset_basis"]) for run in runs)
    named = [
        # A standard's ruleset is never named without what its rules rest on.
        Message("{ruleset}, {basis}", ruleset=ruleset, basis=basis) if basis else ruleset
        for ruleset, basis in rulesets
        if ruleset
    ]
    said = choose_plural(
        len(runs),
        "{valid} of {number} run is valid (ruleset {ruleset})",
        "{valid} of {number} runs are valid (ruleset {ruleset})",
        valid=found[Validity.VALID],
        ruleset=join_parts(", ", named) if named else MISSING,
    )
    others = (
        (Validity.CLAIMED, Message("claimed, unverified: {number}", number=found[Validity.CLAIMED])),
        (Validity.INVALID, Message("invalid: {number}", number=found[Validity.INVALID])),
        (Validity.INCOMPLETE, Message("incomplete: {number}", number=found[Validity.INCOMPLETE])),
        (Validity.SET_ASIDE, Message("set aside: {number}", number=found[Validity.SET_ASIDE])),
    )
    return join_parts("; ", [said, *(message for validity, message in others if found[validity])])


def _iterate_targets(runs: Sequence[NumberedRun]) -> Iterator[Message]:
    """Runs that count although they missed their target, and workloads that state none."""
    counted = [each for each in runs if is_counted(each.run)]
    missed = [each for each in counted if each.run.cells["converged"] is False]
    if missed:
        yield choose_plural(
            len(missed),
            "{number} valid run missed its target accuracy ({runs}; {hardware}): {found}, target {target}",
            "{number} valid runs missed their target accuracy ({runs}; {hardware}): {found}, target {target}",
            found=join_few(format_percent(each.run.cells["accuracy"]) for each in missed),
            target=join_few(format_percent(each.run.cells["accuracy_target"]) for each in missed),
            **_describe_runs(missed),
        )
    without = list_distinct(each.run.cells["workload"] for each in counted if each.run.cells["accuracy_target"] is None)
    if without:
        yield Message("No target accuracy is stated: {workloads}", workloads=join_few(without))


def _not_counting(runs: Sequence[NumberedRun]) -> Iterator[Message]:
    """A sentence for each failed check, and one for what has no result."""
    failed: defaultdict[str, list[tuple[NumberedRun, Check]]] = defaultdict(list)
    for each in runs:
        if each.run.cells["validity"] == Validity.INVALID:
            for check in each.run.checks:
                if check.level is CheckLevel.FAIL:
                    failed[check.id].append((each, check))
    for check_id, pairs in sorted(failed.items(), key=lambda item: -len(item[1])):
        yield choose_plural(
            len(pairs),
            "{number} run is not valid ({runs}; {hardware}): {check} failed: {found} (expected: {expected})",
            "{number} runs are not valid ({runs}; {hardware}): {check} failed: {found} (expected: {expected})",
            check=check_id,
            expected=_quote_texts([check.expected for _, check in pairs]),
            found=_quote_texts([check.found for _, check in pairs]),
            **_describe_runs([each for each, _ in pairs]),
        )
    for each in runs:
        if each.run.cells["validity"] == Validity.SET_ASIDE:
            yield Message(
                "1 run is left out ({runs}; {hardware}): set aside: {reason}",
                reason=each.run.cells["set_aside"],
                **_describe_runs([each]),
            )
    incomplete = [each for each in runs if each.run.cells["validity"] == Validity.INCOMPLETE]
    if incomplete:
        yield choose_plural(
            len(incomplete),
            "{number} run is left out ({runs}; {hardware}): not completed, or without a result",
            "{number} runs are left out ({runs}; {hardware}): not completed, or without a result",
            **_describe_runs(incomplete),
        )


def _describe_runs(runs: Sequence[NumberedRun]) -> dict[str, str]:
    numbers = [str(number) for number in format_ranges(each.number for each in runs).split(", ")]
    listed = ", ".join(numbers[:MAX_NUMBERS]) + (", …" if len(numbers) > MAX_NUMBERS else "")
    return {"runs": f"№ {listed}", "hardware": join_few(describe_hardware(each.run.cells) for each in runs) or MISSING}


def _quote_texts(texts: Sequence[str]) -> str:
    """One text as it is, since it may have a translation; otherwise some of the different ones."""
    return texts[0] if len(set(texts)) == 1 else join_few(texts)


def _iterate_series(reported: Reported) -> Iterator[Message]:
    for row in reported.series:
        if not row.counts:
            failed = [check.id for check in row.checks if check.level is CheckLevel.FAIL]
            yield Message(
                "Series not valid: {series}, nodes: {nodes}, {version}: {checks}",
                series=row.series_id,
                nodes=row.node_count or MISSING,
                version=row.framework_version or MISSING,
                checks=Message("{checks} failed", checks=", ".join(failed)) if failed else Message("no valid run"),
            )
