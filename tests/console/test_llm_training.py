"""The section of LLM training on a run's page and on Compare: every number with what it was divided by."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.model import RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, markdown_texts
from tests.llm_runs import trained

_MARKS = re.compile("[\N{ZERO WIDTH SPACE}\\\\]")  # where a line may break, and of Markdown


def with_losses(run_id: str, lowest: float) -> RunRecord:
    """Of a workload whose loss has to come down to 2.5."""
    numbers = {"tokens_per_s": 5.0, "loss_target": 2.5, "lowest_loss": lowest}
    numbers |= {"time_to_loss_target_s": 90.0} if lowest <= 2.5 else {}
    trained_once = trained(run_id, 131_072, "modelarts.bm.npu.arm.8snt9b3.d")
    return replace(trained_once, metrics=tuple(RunMetric(name, value) for name, value in numbers.items()))


@pytest.fixture
def recorded(data_dir: Path) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        [
            trained("full", 131_072, "modelarts.bm.npu.arm.8snt9b3.d"),
            trained("loose", 3_024, "modelarts.bm.npu.arm.8snt9b1.d"),
            trained("unknown", 131_072, "modelarts.vm.8xsnt9b", recomputation=None),
            trained("impossible", 131_072, "modelarts.bm.npu.arm.8snt9b3.d", seconds=2),
            replace(
                trained("missed", 131_072, "modelarts.bm.npu.arm.8snt9b3.d", accuracy=0.1),
                metrics=(RunMetric("tokens_per_s", 5.0, "tokens/s"), RunMetric("reported_mfu", 41.5, "%")),
            ),
            with_losses("too high", 2.8),
            with_losses("low enough", 2.4),
            a.record("other", throughputs=[100.0] * 8),
        ]
    )


def read_tables(app: Any) -> list[Mapping[str, Mapping[str, str]]]:
    """The tables of the section: by column the values by row, without the marks that break lines."""
    plain = [
        each.value.map(lambda text: _MARKS.sub("", str(text)).replace("\N{NO-BREAK SPACE}", " ")) for each in app.table
    ]
    return [
        {str(column): dict(zip(frame.iloc[:, 0], frame[column], strict=True)) for column in frame.columns[1:]}
        for frame in plain
    ]


def find_sections(app: Any) -> list[Any]:
    return [folded for folded in app.expander if folded.label.startswith("LLM training")]


@pytest.mark.usefixtures("recorded")
def test_the_folded_section_says_rate_and_mfu_and_its_warnings_stand_above_it(open_page: OpenPage) -> None:
    full, loose = open_page("live", run="full"), open_page("live", run="loose")

    [section] = find_sections(full)
    assert not section.proto.expanded
    rate, mfu = "16,384 tokens/s (counted by all ranks)", "MFU (palm) 36.57 % of 294.912 TFLOPS"
    assert section.label == f"LLM training · {rate} · {mfu}"
    assert [warning.value for warning in find_sections(loose)[0].warning] == []
    assert [warning for warning in loose.warning if "nominal" in warning.value]


@pytest.mark.usefixtures("recorded")
def test_a_run_says_what_its_mfu_was_divided_by(open_page: OpenPage) -> None:
    app = open_page("live", run="full")

    figures, conversions, settings = read_tables(app)[:3]
    values = figures["Value"]
    assert values["Tokens per second"] == "16,384 tokens/s (counted by all ranks)"
    assert values["Tokens per second and die"] == "2,048 tokens/s (counted by all ranks)"
    assert values["Measured steps"] == "11–50 (declared: 11–50)"
    peak = "294.912 TFLOPS (vendor)"
    assert values["MFU (palm)"] == "36.57 % of 294.912 TFLOPS"
    assert (
        values["Peak of a die"]
        == f"{peak}, bf16: torchtitan-npu, torchtitan_npu/extensions/peak_flops.py (Cube), 2026-11-28"
    )
    assert conversions["Value"][f"palm · {peak}"] == "36.57 %"
    assert len(conversions["Value"]) == 9, "three formulas against three peaks"
    assert settings["Value"]["packing"] == "unknown"
    assert settings["Value"]["Parameters of the model"] == "8,190,735,360"


@pytest.mark.usefixtures("recorded")
def test_compare_shows_both_beside_each_other_and_warns_of_nominal_tokens(open_page: OpenPage) -> None:
    app = open_page("compare", ids=["full", "loose"])

    said = markdown_texts(app)
    tables = [table for table in read_tables(app) if {"full", "loose"} <= table.keys()]
    conversions = next(table for table in tables if any("divisor" in row for row in table["full"]))
    rows = {row: (conversions["full"][row], conversions["loose"][row]) for row in conversions["full"]}
    assert "**loose**: nominal tokens are 4,234 % off" in said
    assert "**full**: nominal" not in said
    assert [values for row, values in rows.items() if "294.912" in row and values[1] != "–"] == [], (
        "another chip's peak"
    )


@pytest.mark.usefixtures("recorded")
def test_a_run_without_a_known_peak_says_why_it_has_no_mfu(open_page: OpenPage) -> None:
    app = open_page("live", run="unknown")

    assert "**unknown** has no MFU: Ascend 910B may be 910B1, 910B2, 910B3, 910B4: state which." in markdown_texts(app)


@pytest.mark.usefixtures("recorded")
def test_a_missed_target_is_not_reached_and_what_others_counted_is_reported(open_page: OpenPage) -> None:
    values = read_tables(open_page("live", run="missed"))[0]["Value"]

    assert values["Time to target"] == "not reached"
    assert values["Epochs to target"] == values["Tokens to target"] == "not reached"
    assert values["Tokens per second"] == "5 tokens/s (as the job reports it)"
    assert values["MFU as the framework reports it"] == "41.5 %"
    assert not [name for name in values if name.startswith("MFU (")], "its tokens were not counted here"


@pytest.mark.usefixtures("recorded")
def test_a_loss_above_its_target_is_marked_and_its_time_is_not_reached(open_page: OpenPage) -> None:
    missed, reached = open_page("live", run="too high"), open_page("live", run="low enough")

    tiles = [{tile.label: (tile.value, tile.delta) for tile in app.metric}["Lowest loss"] for app in (missed, reached)]
    values = [read_tables(app)[0]["Value"] for app in (missed, reached)]
    assert tiles == [("2.8", "✗ target ≤ 2.5"), ("2.4", "✓ target ≤ 2.5")]
    assert [each["Time to target loss"] for each in values] == ["not reached", "90"]


@pytest.mark.usefixtures("recorded")
def test_an_mfu_above_its_peak_is_called_wrong(open_page: OpenPage) -> None:
    assert "**impossible** has an MFU above 100 %" in markdown_texts(open_page("live", run="impossible"))


@pytest.mark.usefixtures("recorded")
def test_a_run_that_trained_no_language_model_has_no_such_section(open_page: OpenPage) -> None:
    app = open_page("live", run="other")

    assert find_sections(app) == []


@pytest.mark.usefixtures("recorded")
def test_a_lab_s_own_peak_counts_on_the_page_at_once(open_page: OpenPage, data_dir: Path) -> None:
    (data_dir / "chips.yaml").write_text("""
chips:
  - name: Ascend 910B3
    printed: [910B3]
    peaks: [{precisions: [bf16], tflops: 300, origin: measured, source: our matmul, date: '2026-11'}]
""")

    figures = read_tables(open_page("live", run="full"))[0]

    assert figures["Value"]["Peak of a die"] == "300 TFLOPS (measured), bf16: our matmul, 2026-11"
    assert figures["Value"]["MFU (palm)"] == "35.95 % of 300 TFLOPS"


@pytest.mark.usefixtures("recorded")
def test_a_wrong_file_of_chips_is_named_on_the_page(open_page: OpenPage, data_dir: Path) -> None:
    (data_dir / "chips.yaml").write_text("chips:\n  - {name: X}\n")

    assert "chips.0.printed" in markdown_texts(open_page("live", run="full"))
