"""How the command line writes numbers, tables and JSON."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.base import formats
from aisbench_core.base.errors import (
    AisbenchError,
    AuthFailed,
    CloudNotFound,
    CloudUnavailable,
    ConfigError,
    ResultError,
    RunNotFound,
    SpecError,
    StaleRun,
    WarehouseBusy,
)
from aisbench_core.base.messages import make_verbatim
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.exit_codes import exit_code
from aisbench_core.model import RunSpec, RunState


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.76543, "0.76543"),
        (1.5, "1.5"),
        (450.77798, "450.78"),
        (12345.678, "12,346"),
        (1_234_567.0, "1,234,567"),
        (1e99, "1e+99"),
        (0.00012345678, "0.00012346"),
    ],
)
def test_a_number_shows_what_can_be_told_apart(value: float | None, text: str) -> None:
    assert formats.format_number(value) == text


def test_a_number_has_its_unit_and_a_missing_one_has_none() -> None:
    assert formats.format_number(12.5, "samples/s") == "12.5 samples/s"
    assert formats.format_number(None, "samples/s") == "–"
    assert formats.format_percent(0.0123) == "1.23 %"


def test_columns_are_aligned_also_with_wide_letters_and_line_breaks() -> None:
    text = display.format_table(("name", ">value"), [("模型", "1"), ("two\nlines", "22")])

    assert text == "name       value\n模型           1\ntwo lines     22"


def test_json_tells_times_in_utc_and_missing_values_as_null() -> None:
    @dataclass(frozen=True, slots=True)
    class Value:
        at: datetime
        spec: RunSpec
        state: RunState
        place: Path
        missing: float | None = None

    at = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)
    value = Value(at, RunSpec(workload="模"), RunState.COMPLETED, Path("/x"))

    answer = json.loads(display.to_json(value))

    assert answer["at"] == "2026-11-21T01:02:03Z"
    assert answer["spec"]["workload"] == "模"
    assert (answer["state"], answer["place"], answer["missing"]) == ("completed", "/x", None)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CloudUnavailable(make_verbatim("x"), operation="create"), 3),
        (AuthFailed(make_verbatim("x"), operation="create"), 2),
        (CloudNotFound(make_verbatim("x"), operation="create"), 2),
        (SpecError(make_verbatim("x"), []), 2),
        (ConfigError(make_verbatim("x")), 2),
        (RunNotFound(make_verbatim("x")), 2),
        (StaleRun(make_verbatim("x")), 1),
        (ResultError(make_verbatim("x")), 1),
        (WarehouseBusy(make_verbatim("x")), 1),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: AisbenchError, code: int) -> None:
    assert exit_code(error) == code


def test_names_from_files_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "A\x1b]0;title\x07B\x9b2J"

    display.print_message(f"columns:\n{hostile}")

    said = capsys.readouterr().err
    assert said.startswith("columns:\nA")
    for text in (display.format_table(["model"], [[hostile]]), said):
        assert not {"\x1b", "\x07", "\x9b"} & set(text)


def test_a_long_name_does_not_widen_a_table() -> None:
    assert display.clip_text("resnet50") == "resnet50"
    assert display.clip_text("m" * 41) == "m" * 39 + "…"
    assert display.clip_text("two\nlines") == "two lines"
    assert display.format_hardware("f" * 90, 2, 8) == "f" * 39 + "… · 2 × 8"
    wide = display.format_table(["model", "why"], [["m" * 9_999, "w" * 999], ["n", "because"]]).splitlines()
    assert [len(line) for line in wide] == [245, 1241, 249]


def test_an_answer_cannot_command_the_terminal_and_keeps_blanks_and_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    display.print_result({}, False, lambda: "模型\u3000👩\u200d🔬\x1b[2J\u202eolleh")

    assert capsys.readouterr().out == "模型\u3000👩\u200d🔬\ufffd[2J\ufffdolleh\n"
