"""Each file of a style says what its own lines mean, so that another style costs one file."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.domain.progress.logged import LoggedTraining
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.progress.styles import SHIPPED, read_styles, shipped_styles
from aisbench_core.domain.progress.tracking import Tracker
from aisbench_core.model import TrainingPoint
from tests.records import T0, spec

EXAMPLES = {
    f"{style.name}: {example.of or 'itself'}": (style.name, example)
    for style in shipped_styles()
    for example in style.examples
}


def last_point(lines: str, parameters: Mapping[str, Any], each: int = 10**6) -> TrainingPoint:
    """What is known after the lines, read as they come: so many at a time."""
    patterns, tracker = ProgressPatterns(), Tracker(spec(parameters=dict(parameters)))
    text = lines.splitlines(keepends=True)
    for start in range(0, len(text), each):
        part = "".join(text[start : start + each])
        tracker.add(patterns.readings(part.encode()), T0, T0 + timedelta(seconds=10))
    return replace(tracker.last or TrainingPoint(T0), at=T0)


def last_measures(lines: str, parameters: Mapping[str, Any], each: int) -> dict[str, float]:
    """What the log says last of each other value, read likewise."""
    patterns, training = ProgressPatterns(), LoggedTraining(Tracker(spec(parameters=dict(parameters))))
    text = lines.splitlines(keepends=True)
    for start in range(0, len(text), each):
        training.add(patterns.readings("".join(text[start : start + each]).encode()))
    return {name: series[max(series)] for name, series in training.values.items() if series}


@pytest.mark.parametrize("each", [1, 10**6])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_style_reads_its_own_lines_as_its_file_says(name: str, each: int) -> None:
    _, example = EXAMPLES[name]

    point = last_point(example.lines, example.parameters, each)
    measured = last_measures(example.lines, example.parameters, each)

    said = {field: getattr(point, field, measured.get(field)) for field in example.says}
    assert said == pytest.approx(dict(example.says))
    assert point.stage == example.says.get("stage", "")


@pytest.mark.parametrize("name", [name for name, (_, example) in EXAMPLES.items() if not example.of])
def test_some_line_of_a_style_is_read_by_itself(name: str) -> None:
    style, example = EXAMPLES[name]

    assert style in {reading.style for reading in ProgressPatterns().readings(example.lines.encode())}


def test_every_file_is_loaded_and_names_where_its_lines_come_from() -> None:
    assert len(shipped_styles()) == len([*SHIPPED.glob("*.yaml")])
    assert len({style.name for style in shipped_styles()}) == len(shipped_styles())


def test_forty_styles_are_known() -> None:
    assert len(EXAMPLES) >= 60
    assert len(shipped_styles()) >= 40


def test_thirty_styles_say_where_a_training_is_its_loss_and_how_fast_it_is() -> None:
    """As their own examples show, which the tests above read."""

    def is_whole(says: Mapping[str, Any]) -> bool:
        speed = {"step_s", "throughput", "tokens_per_s"} & says.keys()
        return {"step", "steps", "loss"} <= says.keys() and bool(speed)

    whole = [style.name for style in shipped_styles() if any(is_whole(example.says) for example in style.examples)]

    assert len(whole) >= 30, whole


def test_another_style_costs_one_file(tmp_path: Path) -> None:
    """A framework that nobody knew, whose bar Ultralytics or tqdm would not read."""
    (tmp_path / "another.yaml").write_text(ANOTHER, "utf-8")

    style = read_styles(tmp_path)[0]
    reading = ProgressPatterns(styles=[style]).readings(style.examples[0].lines.encode())[0]

    assert {name: getattr(reading, name) for name in style.examples[0].says} == dict(style.examples[0].says)
    assert not ProgressPatterns().readings(style.examples[0].lines.encode())


ANOTHER = """
name: Another
sources: [{project: a/b, version: "1", file: train.py}]
lines:
  - {has: '<<', pattern: '<<<step>~<steps>>>', also: ['nll <loss>']}
examples:
  - lines: |
      <<30~600>> nll 2.5
    says: {step: 30, steps: 600, loss: 2.5}
"""
