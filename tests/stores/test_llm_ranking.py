"""The leaderboard of LLM runs: MFU is ranked by formula and peak, and a run with unknown settings is not ranked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from aisbench_core.domain.llm.flops import FORMULAS
from aisbench_core.domain.llm.llm_settings import LlmSettings
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.llm_runs import SETTINGS, trained

B1, B3 = "modelarts.bm.npu.arm.8snt9b1.d", "modelarts.bm.npu.arm.8snt9b3.d"
QUERY = BoardQuery("cn-north-9")
STATED: dict[str, Any] = {**dict.fromkeys(LlmSettings.model_fields, 1), **SETTINGS}


def open_with(folder: Path, *seconds: tuple[str, str, float, dict[str, Any]]) -> Warehouse:
    warehouse = Warehouse(folder / "warehouse.duckdb")
    warehouse.record_many(trained(run_id, 131_072, flavor, each, **more) for run_id, flavor, each, more in seconds)
    return warehouse


def test_mfu_against_two_peaks_is_never_in_one_ranking(tmp_path: Path) -> None:
    warehouse = open_with(tmp_path, ("b3", B3, 8.0, STATED), ("b1", B1, 7.0, STATED), ("slow", B3, 9.0, STATED))

    blocks = warehouse.board.list_benchmarks(replace(QUERY, metric="mfu.palm"), 10).rows
    by_speed = warehouse.board.list_benchmarks(replace(QUERY, metric="tokens_per_s_per_die"), 10).rows

    assert {frozenset((row.flavor, row.throughput_unit) for row in block.rows) for block in blocks} == {
        frozenset({(B3, "% of 294.912 bf16 TFLOPS")}),
        frozenset({(B1, "% of 373.88 bf16 TFLOPS")}),
    }
    assert [[row.flavor for row in block.rows] for block in by_speed] == [[B1, B3]], "tokens are ranked together"


def test_mfu_by_two_formulas_has_two_names(tmp_path: Path) -> None:
    warehouse = open_with(tmp_path, ("b3", B3, 8.0, STATED))

    values = {
        formula: warehouse.board.list_rows(replace(QUERY, metric=f"mfu.{formula}")).rows[0].throughput
        for formula in FORMULAS
    }

    assert len(set(values.values())) == len(FORMULAS)


def test_a_run_with_an_unknown_setting_has_no_rank_and_compares_as_unknown(tmp_path: Path) -> None:
    unknown = STATED | {"packing": None}
    warehouse = open_with(tmp_path, ("first", B3, 8.0, unknown), ("second", B3, 7.0, unknown))

    [row] = warehouse.board.list_rows(QUERY).rows
    compared = warehouse.runs.compare(["first", "second"])

    assert (row.rank, row.ci_low, row.not_known) == ("", None, "llm.packing")
    assert str(row.mixed) == "mixed or unknown: llm.packing"
    assert (compared.verdict, compared.verdicts[1].unknown) == (Comparability.COMPARABLE, ("llm.packing",))
