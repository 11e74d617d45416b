"""Reading results of inference: of a service and of an offline model, and what is wrong with a file."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from aisbench_core.exchange.readers.inference import MOST_BYTES, list_read
from aisbench_core.exchange.readers.reading import read_inference_path, read_path
from aisbench_core.exchange.readers.results import Unread
from aisbench_core.warehouse.values.inference import InferenceResult, InferenceTool, InferenceUnit
from tests.unit.inference_files import TABLE, offline, service


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def read(path: Path) -> tuple[list[InferenceResult], list[Unread]]:
    results, unread = list_read(read_inference_path(path))
    return [*results], [*unread]


def test_the_two_files_of_a_service_are_one_result_with_the_model_of_its_folder(tmp_path: Path) -> None:
    [result], unread = read(write(tmp_path, service()))

    assert not unread
    assert (result.tool, result.model, result.dataset, result.stage) == (
        InferenceTool.SERVICE, "vllm-api-stream-chat", "gsm8k", "total",
    )  # fmt: skip
    assert (result.throughput, result.unit, result.requests_per_s) == (115.78, InferenceUnit.TOKENS, 0.4021)
    assert (result.requests, result.failed, result.concurrency, result.duration_s) == (8, 0, 4, 19.8905)
    assert (result.latency_p50_ms, result.latency_p90_ms, result.latency_p99_ms) == (2040.0, 2500.0, 2690.0)
    assert (result.ttft_p50_ms, result.ttft_p99_ms, result.tpot_p50_ms, result.tpot_p99_ms) == (50.0, 69.5, 10.4, 11.9)
    assert result.batch is None, "a service has none"


def test_an_offline_model_has_samples_per_second_and_the_batch_size_of_its_command(tmp_path: Path) -> None:
    [result], unread = read(write(tmp_path, offline()))

    assert not unread
    assert (result.tool, result.unit) == (InferenceTool.OFFLINE, InferenceUnit.SAMPLES)
    assert (result.model, result.batch, result.throughput) == ("resnet50_bs8", 8, 407.166)
    assert (result.latency_p50_ms, result.latency_p90_ms, result.latency_p99_ms) == (2.4, None, 3.8)
    assert (result.requests, result.failed, result.ttft_p50_ms) == (None, None, None)


def test_the_same_in_an_archive_is_the_same_result(tmp_path: Path) -> None:
    folder = write(tmp_path / "folder", {**service(), **offline()})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in {**service(), **offline()}.items():
            archive.writestr(name, text)
    (tmp_path / "results.zip").write_bytes(packed.getvalue())

    of_folder, of_archive = read(folder)[0], read(tmp_path / "results.zip")[0]

    assert len(of_folder) == 2
    assert {one.result_id for one in of_archive} == {one.result_id for one in of_folder}


def test_the_stable_stage_is_taken_where_it_was_measured(tmp_path: Path) -> None:
    stages = {"total": "90 token/s", "stable": "120.5 token/s"}
    common = {"Benchmark Duration": {"total": "9 ms", "stable": "5 ms"}, "Output Token Throughput": stages}
    table = TABLE + TABLE.splitlines()[1].replace("total", "stable").replace("2690.0", "2100.0") + "\n"

    [result], _ = read(write(tmp_path, {"m/d.json": json.dumps(common), "m/d.csv": "\ufeff" + table}))

    assert (result.stage, result.throughput, result.latency_p99_ms) == ("stable", 120.5, 2100.0)
    assert result.model == "", "only a folder in performances/ is called like the model"


def test_a_table_alone_has_no_throughput_and_is_told(tmp_path: Path) -> None:
    results, [unread] = read(write(tmp_path, {"gsm8k.csv": TABLE}))

    assert not results
    assert (unread.source, "the .json file of the same name is missing" in unread.reason) == ("gsm8k.csv", True)


@pytest.mark.parametrize(
    "cell", ["NaN token/s", "-3 token/s", "1e999 token/s", "fast", None, True, [], {"x": 1}, 10**400]
)
def test_what_is_no_number_is_empty_and_never_0(tmp_path: Path, cell: object) -> None:
    common = {"Benchmark Duration": {"total": "9 ms"}, "Output Token Throughput": {"total": cell}}

    [result], _ = read(write(tmp_path, {"m/d.json": json.dumps(common)}))

    assert result.throughput is None
    assert not result.is_ranked


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a": 1}', "[" * 100_000])
def test_other_files_are_told_only_if_there_is_nothing_else(tmp_path: Path, text: str) -> None:
    results, [unread] = read(write(tmp_path / "alone", {"x.json": text}))
    beside = read(write(tmp_path / "beside", {"x.json": text, **service()}))

    assert not results
    assert "it is no result of AISBench/benchmark or ais_bench" in unread.reason
    assert (len(beside[0]), beside[1]) == (1, [])


def test_a_file_that_is_too_large_is_told(tmp_path: Path) -> None:
    _, [unread] = read(write(tmp_path, {"x.json": " " * (MOST_BYTES + 1)}))

    assert "it is larger than 16 MiB" in unread.reason


def test_the_import_of_training_takes_none_of_these_files(tmp_path: Path) -> None:
    found = list(read_path(write(tmp_path, {**service(), **offline()})))

    assert all(isinstance(one, Unread) for one in found)
    assert len([one for one in found if "`aisbench inference import` reads it" in str(getattr(one, "reason", ""))]) == 3
