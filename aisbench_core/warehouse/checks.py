"""Whether a result may be believed: one function per rule, each with what it expects and what it found.

Rules V01 and V03 decide validity, V06 where an accuracy was to be measured; V02, V04 and V05 warn. A missed accuracy
target is a warning: what it costs is up to the ruleset that a result is submitted under, and no target here is one.
An imported result that says nothing of single cards is warned about by V03, and V04 has nothing to compare.
"""

import math
from collections.abc import Iterator, Sequence

from aisbench_core.model import CollectedResult, RunRecord, RunState, TrainResultInfo
from aisbench_core.warehouse.throughput import (
    AS_REPORTED,
    STRAGGLER_SHARE,
    Throughput,
    cards_found,
    is_usable,
    is_whole,
)
from aisbench_core.warehouse.values import Check, CheckLevel, Validity

NOT_NEGATIVE = ("average_power", "max_power", "energy_consumption", "efficientcy", "resource_util_ratio")
PERIODS = ("prepare", "dataload", "proc", "total")
AGREEMENT = 1e-6
"""How far, as a share, a reported throughput may be from the computed one: the digits that text loses."""


def ended_as(record: RunRecord) -> RunState:
    """How the run ended. While its results are being collected, the verdict is already known."""
    run = record.run
    return run.state if run.state.is_terminal else run.verdict or run.state


def checks(record: RunRecord, computed: Throughput) -> tuple[Check, ...]:
    """Every rule that applies to this record, in the order of their ids."""
    if record.result is None:
        return (Check("V01", CheckLevel.FAIL, "a result", "none", record.run.detail),)
    found = [
        _fields(record, record.result, computed),
        _times(record.result.info),
        _ranks(record, record.result),
        *_agreement(record.result.info, computed),
        *_stragglers(computed),
        _accuracy(record, record.result),
    ]
    return tuple(found)


def validity(record: RunRecord, found: Sequence[Check]) -> Validity:
    """Valid only when the run completed and no check failed; incomplete when there is no whole run to judge."""
    if record.result is None or ended_as(record) is not RunState.COMPLETED:
        return Validity.INCOMPLETE
    failed = any(check.level is CheckLevel.FAIL for check in found)
    return Validity.INVALID if failed else Validity.VALID


def _fields(record: RunRecord, result: CollectedResult, computed: Throughput) -> Check:
    wrong = [*result.problems, *_missing(record, computed), *_out_of_range(result.info)]
    level = CheckLevel.FAIL if wrong else CheckLevel.OK
    return Check("V01", level, "every required field, in range", "; ".join(wrong) or "all", "train_result_info")


def _missing(record: RunRecord, computed: Throughput) -> Iterator[str]:
    if not record.workload.throughput_definition:
        yield "throughput_definition is missing"
    if computed.total is None:
        yield "throughput is missing"


def _out_of_range(info: TrainResultInfo) -> Iterator[str]:
    reported = info.throughput_ratio
    if reported is not None and not is_usable(reported):
        yield f"throughput_ratio is {reported}"
    for name in NOT_NEGATIVE:
        value = getattr(info, name)
        if value is not None and not (math.isfinite(value) and value >= 0):
            yield f"{name} is {value}"
    if info.resource_util_ratio is not None and info.resource_util_ratio > 1:
        yield f"resource_util_ratio is {info.resource_util_ratio}"


def _times(info: TrainResultInfo) -> Check:
    late = [name for name in PERIODS if _ends_before_it_starts(info, name)]
    level = CheckLevel.WARN if late else CheckLevel.OK
    return Check("V02", level, "every period starts before it ends", ", ".join(late) or "all do")


def _ends_before_it_starts(info: TrainResultInfo, period: str) -> bool:
    start, end = getattr(info, f"{period}_start_time"), getattr(info, f"{period}_end_time")
    return start is not None and end is not None and start > end


def _ranks(record: RunRecord, result: CollectedResult) -> Check:
    cards = record.run.spec.card_count
    if record.imported and not result.rank_results:
        return Check(
            "V03", CheckLevel.WARN, "a throughput of each card", "none", "the imported result holds only its sum"
        )
    whole = is_whole(result) and result.ranks_expected == cards
    found = f"{cards_found(result)} of {result.ranks_expected} ranks"
    unusable = [
        f"server {card.server} rank {card.rank}: {card.throughput}"
        for card in result.rank_results
        if not is_usable(card.throughput)
    ]
    return Check("V03", CheckLevel.OK if whole else CheckLevel.FAIL, f"{cards} ranks", found, "; ".join(unusable[:8]))


def _agreement(info: TrainResultInfo, computed: Throughput) -> Iterator[Check]:
    reported = info.throughput_ratio
    if reported is None or computed.total is None or not is_usable(reported) or computed.formula_id == AS_REPORTED:
        return
    agrees = math.isclose(reported, computed.total, rel_tol=AGREEMENT)
    level = CheckLevel.OK if agrees else CheckLevel.WARN
    yield Check("V04", level, repr(computed.total), repr(reported), computed.formula_id)


def _stragglers(computed: Throughput) -> Iterator[Check]:
    if computed.total is None or computed.formula_id == AS_REPORTED:
        return
    slow = [f"server {card.server} rank {card.rank}: {card.throughput}" for card in computed.stragglers]
    level = CheckLevel.WARN if slow else CheckLevel.OK
    expected = f"every rank at {STRAGGLER_SHARE:.0%} of the median or above"
    yield Check("V05", level, expected, f"{len(slow)} below", "; ".join(slow[:8]))


def _accuracy(record: RunRecord, result: CollectedResult) -> Check:
    accuracy, target = result.info.accuracy, record.workload.accuracy_target
    found = "not measured" if accuracy is None else repr(accuracy)
    if result.synthetic_data:
        return Check("V06", CheckLevel.WARN, "real data", found, "accuracy on synthetic data is not a measurement")
    if accuracy is None or not 0 < accuracy <= 1:
        return Check("V06", CheckLevel.FAIL, "above 0 and at most 1", found)
    if target is None:
        return Check("V06", CheckLevel.OK, "above 0 and at most 1", found, "the workload has no target")
    level = CheckLevel.OK if accuracy >= target else CheckLevel.WARN
    return Check("V06", level, f"at least {target!r}", found, record.workload.accuracy_target_source)
