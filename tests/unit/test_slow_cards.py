"""Slow cards of running jobs: told after five minutes, by reports that a job may write any way."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from aisbench_core.base.messages import in_chinese
from aisbench_core.domain.liveness.slow_cards import SLOW_MINUTES, CardRate, card_rates, slow_message
from aisbench_core.domain.liveness.step_reports import StepReport, parse_steps, step_file_node
from aisbench_core.warehouse.answers.ranks import MAX_CELLS, live_rank_map

T0 = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def reports(minutes: int, *, slow_from: int = 0, slow: float = 0.8, cards: int = 8) -> list[StepReport]:
    """A report per card each 10 s; card 3 is slower from a minute on."""
    return [
        StepReport(T0 + timedelta(seconds=10 * tick), card // 4, card % 4, card, 100.0, 1.0 / rate)
        for tick in range(6 * minutes + 1)
        for card in range(cards)
        for rate in [slow if card == 3 and tick >= 6 * slow_from else 1.0]
    ]


def slow_of(rates: list[CardRate]) -> list[tuple[int, int]]:
    return [(rate.node, rate.card) for rate in rates if rate.slow_since]


def test_a_card_is_slow_after_five_minutes_and_not_before() -> None:
    before = card_rates(reports(10, slow_from=6), 0.95)
    after = card_rates(reports(11, slow_from=6), 0.95)

    assert slow_of(before) == []
    assert slow_of(after) == [(0, 3)]
    [card] = [rate for rate in after if rate.slow_since]
    assert card.slow_since == T0 + timedelta(minutes=6)
    assert card.share == pytest.approx(0.8)
    assert card.throughput == pytest.approx(80.0)


def test_one_good_minute_and_a_bound_that_is_kept_are_not_slow() -> None:
    recovered = [*reports(9), *(report for report in reports(11, slow=1.0) if report.at >= T0 + timedelta(minutes=9))]

    assert slow_of(card_rates(recovered, 0.95)) == []
    assert slow_of(card_rates(reports(11, slow=0.96), 0.95)) == []
    assert slow_of(card_rates(reports(11), None)) == [], "the ruleset has no bound"


def test_an_evaluation_without_reports_neither_ends_nor_makes_it() -> None:
    pause = [report for report in reports(13) if not 4 <= (report.at - T0) / timedelta(minutes=1) < 8]

    assert slow_of(card_rates(pause, 0.95)) == [(0, 3)]


def test_a_single_card_has_nothing_to_be_compared_with() -> None:
    assert card_rates(reports(11, cards=1), 0.95) == []
    assert live_rank_map("r", [], 0.95) is None


def test_what_the_reporter_did_not_write_is_ignored() -> None:
    good = {"at": 1764072000.5, "rank": 3, "card": 1, "samples": 32.0, "seconds": 0.5}
    bad = [
        {},
        {**good, "seconds": 0},
        {**good, "samples": float("nan")},
        {**good, "at": 1e300},
        {**good, "card": -1},
        7,
    ]
    lines = [json.dumps(value) for value in (good, *bad)]

    found = list(parse_steps(("\n".join(lines) + '\n{"at": 1764').encode() + b"\xff\n" + b"[" * 9999, 2))

    assert [(report.node, report.card, report.rank, report.samples) for report in found] == [(2, 1, 3, 32.0)]
    names = ("steps_7.jsonl", "steps_7_3.jsonl", "steps_x.jsonl", "a/steps_7.jsonl", "cards_7_1.jsonl")
    assert list(map(step_file_node, names)) == [7, 7, None, None, None]


def test_the_message_names_the_slowest_and_counts_the_rest() -> None:
    rates = [CardRate(node, 0, node, 50.0 + node, 0.5 + node / 100, T0) for node in range(6)]

    text = slow_message(rates)

    assert text.startswith(f"slow for {SLOW_MINUTES} minutes: card 0 of node 0 (50 % of the median), ")
    assert text.endswith("and 2 more")
    assert in_chinese(text).startswith("已慢 5 分钟：节点 0 的卡 0（中位数的 50 %）")


def test_many_cards_make_a_small_map() -> None:
    rates = [
        CardRate(node, card, 8 * node + card, 90.0 if node == 5 else 100.0, 1.0)
        for node in range(512)
        for card in range(8)
    ]

    few, many = live_rank_map("r", rates[:64], 0.95), live_rank_map("r", rates, 0.95)

    assert few is not None
    assert many is not None
    assert (few.by_card, len(few.cells), few.spread.stragglers) == (True, 64, 8)
    assert (many.by_card, len(many.cells) <= MAX_CELLS) == (False, True)
    assert [cell.stragglers for cell in many.cells if cell.node == 5] == [8]
