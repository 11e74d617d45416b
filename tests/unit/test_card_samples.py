"""Samples of cards: what is read from a job's output, and that nothing which is no measurement becomes one."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.domain.results.card_samples import (
    CardSummary,
    card_summaries,
    fetch_card_samples,
    parse_card_file,
    read_card_samples,
    write_card_samples,
)
from aisbench_core.model import CardSample
from tests import records as a
from tests.memory_store import MemoryStore


def line(at: object, **cards: object) -> bytes:
    return json.dumps({"at": at, "cards": {name.removeprefix("c"): values for name, values in cards.items()}}).encode()


def test_each_value_of_each_card_is_a_sample() -> None:
    found = list(parse_card_file(line(a.T0.timestamp(), c0={"power": 93.6}, c7={"coreUtil": 0}), 2))

    assert found == [CardSample(a.T0, 2, 0, "power", 93.6), CardSample(a.T0, 2, 7, "coreUtil", 0.0)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[1]",
        b"null",
        b"[" * 100_000,
        line("now", c0={"power": 1}),
        line(1e300, c0={"power": 1}),
        line(5, c0=7),
        line(5, cx={"power": 1}),
        line(5, c0={"power": -1}),
        line(5, c0={"power": "NA"}),
        line(5, c0={"power": None, "coreUtil": 101, "temperature": True, "fan": 3}),
        b'{"at": 5, "cards": {"0": {"power": NaN, "temperature": Infinity}}}',
        b'{"at": 5, "cards": {"-1": {"power": 1}, "5000": {"power": 1}}}',
    ],
)
def test_what_is_no_measurement_is_a_gap(content: bytes) -> None:
    whole = line(a.T0.timestamp(), c0={"power": 70})

    assert list(parse_card_file(content, 0)) == []
    assert len(list(parse_card_file(whole + b"\n" + content, 0))) == 1


def test_files_of_all_attempts_and_nodes_are_read_and_those_of_strangers_are_not() -> None:
    objects = MemoryStore({})
    again = a.T0 + timedelta(minutes=9)
    for name, at in (("cards_0_100.jsonl", a.T0), ("cards_0_200.jsonl", again), ("cards_1_100.jsonl", a.T0)):
        objects.put(f"/b/out/{name}", line(at.timestamp(), c0={"power": 70}))
    for name in ("cards_2_100.jsonl", "cards_x_1.jsonl", "cards_0_1.jsonl.part"):
        objects.put(f"/b/out/{name}", line(a.T0.timestamp(), c0={"power": 99}))

    found = fetch_card_samples(objects, "/b/out/", node_count=2)

    assert [(sample.at, sample.node) for sample in found] == [(a.T0, 0), (a.T0, 1), (again, 0)]
    assert {sample.value for sample in found} == {70}


def test_they_are_stored_as_lines_and_summarised_by_card(tmp_path: Path) -> None:
    later = a.T0 + timedelta(minutes=1)
    samples = [
        CardSample(a.T0, 0, 1, "coreUtil", 80),
        CardSample(later, 0, 1, "coreUtil", 90),
        CardSample(a.T0, 0, 1, "memoryUsed", 3000),
        CardSample(later, 0, 1, "memoryUsed", 2000),
        CardSample(later, 1, 0, "temperature", 40),
    ]
    write_card_samples(samples, tmp_path / "cards.jsonl")

    again = read_card_samples(tmp_path / "cards.jsonl")

    assert again == samples
    assert read_card_samples(tmp_path / "none.jsonl") == []
    assert card_summaries(again) == [
        CardSummary(0, 1, 2, 85, 3000, None, None, None),
        CardSummary(1, 0, 1, None, None, None, None, 40),
    ]
