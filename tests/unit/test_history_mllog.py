"""MLPerf's training logs are results: each with its system, division, times, accuracy and time to target."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.reading import read_path
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult, Unread
from aisbench_core.model import SystemStatus

START = datetime(2020, 6, 26, 15, 44, tzinfo=UTC)
SAMPLES, EPOCHS, BLOCK_S = 1_277_952, 4, 6.0


def line(seconds: float, key: str, value: object = None, **metadata: object) -> str:
    """As mllog 0.7 prints it."""
    at = round((START + timedelta(seconds=seconds)).timestamp() * 1000)
    edge = key.rpartition("_")[2]
    kind = {"start": "INTERVAL_START", "stop": "INTERVAL_END"}.get(edge, "POINT_IN_TIME")
    entry = {"namespace": "mindspore", "time_ms": at, "event_type": kind, "key": key, "value": value}
    return f":::MLLOG {json.dumps(entry | {'metadata': {'file': 'train.py', 'lineno': 1, **metadata}})}\n"


def iterate_lines(division: str, blocks: int, accuracy: float, status: str) -> Iterator[str]:
    yield line(0, "submission_benchmark", "resnet")
    yield line(0, "submission_division", division)
    yield line(0, "submission_org", "A Lab")
    yield line(0, "submission_platform", "Ascend 910")
    yield line(0, "submission_status", "cloud")
    yield line(1, "global_batch_size", 32768)
    yield line(2, "init_start")
    yield line(100, "init_stop")
    yield line(101, "run_start")
    yield line(101, "train_samples", SAMPLES)
    for block in range(blocks):
        at, first = 101 + block * (BLOCK_S + 1), 1 + block * EPOCHS
        yield line(at, "block_start", first_epoch_num=first, epoch_count=EPOCHS)
        yield line(at + BLOCK_S, "block_stop", first_epoch_num=first)
        done = accuracy * (block + 1) / blocks
        yield line(at + BLOCK_S + 1, "eval_accuracy", done, epoch_num=first + EPOCHS - 1)
    yield line(101 + blocks * (BLOCK_S + 1), "run_stop", status=status)


def log(division: str = "closed", blocks: int = 16, accuracy: float = 0.76, status: str = "success") -> str:
    return "".join(iterate_lines(division, blocks, accuracy, status))


def found_in(text: str) -> list[ParsedResult | Unread]:
    return list(read_log(io.BytesIO(text.encode()), "result_0.txt", UPSTREAM_ZONE))


def only(text: str) -> ParsedResult:
    (result,) = found_in(text)
    assert isinstance(result, ParsedResult)
    return result


def test_a_log_is_one_result_with_its_times_accuracy_and_target() -> None:
    result = only("starting\n" + log() + "done\n")

    assert (result.model, result.framework, result.accelerator) == ("resnet", "MindSpore", "Ascend 910")
    assert result.info.accuracy == pytest.approx(0.76)
    assert result.info.throughput_ratio == pytest.approx(EPOCHS * SAMPLES / BLOCK_S)
    assert (result.started_at, result.target_s) == (START + timedelta(seconds=101), 16 * (BLOCK_S + 1))
    assert (result.info.prepare_start_time, result.info.proc_end_time) == (
        START + timedelta(seconds=2),
        START + timedelta(seconds=101 + 16 * (BLOCK_S + 1)),
    )
    assert result.parameters == {"global_batch_size": 32768}
    assert result.described
    assert result.described.values == {
        "submitter": "A Lab",
        "test_division": "closed",
        "status": SystemStatus.CLOUD,
        "system_name": "Ascend 910",
    }
    assert not result.problems


def test_a_run_that_was_aborted_or_cut_off_reached_no_target() -> None:
    aborted, cut = only(log(status="aborted")), only(log().rpartition(":::MLLOG")[0])

    assert (aborted.target_s, cut.target_s) == (None, None)
    assert [str(problem) for problem in (*aborted.problems, *cut.problems)] == [
        "its run_stop says aborted",
        "the MLLOG lines end before run_stop",
    ]


def test_samples_of_blocks_count_as_newer_logs_say_them() -> None:
    text = "".join(
        [
            line(0, "submission_benchmark", "llama31_8b"),
            line(1, "run_start"),
            line(1, "block_start", samples_count=0),
            line(11, "block_stop", samples_count=12288),
            line(12, "eval_accuracy", 3.4, samples_count=12288),
            line(12, "block_start", samples_count=12288),
            line(22, "block_stop", samples_count=24576),
            line(23, "eval_accuracy", 3.29, samples_count=24576),
            line(23, "run_stop", status="success"),
        ]
    )

    result = only(text)

    assert result.info.throughput_ratio == pytest.approx(24576 / 20)
    assert (result.info.accuracy, result.target_s) == (None, 22.0)  # a loss is no accuracy


def test_what_no_line_says_is_empty() -> None:
    text = "".join(part for part in log().splitlines(keepends=True) if "train_samples" not in part)

    assert only(text).info.throughput_ratio is None


def test_two_runs_in_one_log_are_two_results_and_damaged_lines_none() -> None:
    damaged = ':::MLLOG {"key": "run_stop", "time_ms": \n:::MLLOG 5\n:::MLLOG {"key": "run_start", "time_ms": "x"}\n'

    first, second = found_in(log() + damaged + log(accuracy=0.7))

    assert isinstance(first, ParsedResult)
    assert isinstance(second, ParsedResult)
    assert (first.number, second.number) == (1, 2)
    assert first.identity != second.identity
    assert [part.is_foreign for part in found_in(damaged) if isinstance(part, Unread)] == [True]


@pytest.mark.parametrize(
    ("damaged", "problem"),
    [
        (line(150, "tracked_stats", {"throughput": float("inf")}), "tracked_stats is left out: inf"),
        (line(150, "tracked_stats", {"throughput": 1.7e308}) * 2, "tracked_stats is left out: 1.7e+308"),
        (line(150, "tracked_stats", {"throughput": "nan"}), "tracked_stats is left out: nan"),
        (line(150, "block_start", samples_count=0) + line(151, "block_stop", samples_count=10**400), "block_stop is"),
        (line(150, "learning_rate", float("nan")), "learning_rate is left out: nan"),
        (line(150, "eval_accuracy", True), "eval_accuracy is left out: True"),
    ],
)
def test_what_is_no_possible_number_is_left_out_by_name(damaged: str, problem: str) -> None:
    whole, _, end = log().rpartition(":::MLLOG")

    result = only(f"{whole}{damaged}:::MLLOG{end}")

    [found] = result.problems
    assert problem in str(found)
    assert (result.info.throughput_ratio, result.info.accuracy) == pytest.approx((EPOCHS * SAMPLES / BLOCK_S, 0.76))


def test_a_run_that_stopped_before_it_began_has_no_end() -> None:
    result = only(line(10, "run_start") + line(5, "run_stop", status="success"))

    assert (result.target_s, result.ended_at, result.info.proc_end_time) == (None, None, None)
    assert [str(problem) for problem in result.problems] == ["its run_stop is before its run_start"]


def test_an_accuracy_over_one_is_empty_with_a_remark() -> None:
    result = only(log(accuracy=76.1))

    assert result.info.accuracy is None
    assert "accuracy: empty, as eval_accuracy 76.1 is not from 0 to 1" in map(str, result.remarks)


SYSTEMS = ("cards_128_open", "cards_256_open", "cards_512_closed")


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """Five results of each of three systems, as in MLPerf Training v0.7, whose counts are text."""
    folder = tmp_path / "A_Lab"
    for system in SYSTEMS:
        cards, division = int(system.split("_")[1]), system.split("_")[2]
        (folder / "results" / system / "resnet").mkdir(parents=True)
        for number in range(5):
            text = log(division, 16 + number, 0.76)
            (folder / "results" / system / "resnet" / f"result_{number}.txt").write_text(text)
        described = {
            "submitter": "A Lab",
            "divison": division,
            "status": "available",
            "system_name": f"{system}_0",
            "number_of_nodes": str(cards // 8),
            "host_processors_per_node": "2",
            "accelerators_per_node": "8",
            "accelerator_model_name": "Ascend910",
            "framework": "mindspore-0.3.1",
            "python_version": "3.7.5",
        }
        (folder / "systems").mkdir(exist_ok=True)
        (folder / "systems" / f"{system}.json").write_text(json.dumps(described))
    return folder


def test_each_file_of_a_submission_is_a_result_of_its_system(submission: Path) -> None:
    found = [result for result in read_path(submission) if isinstance(result, ParsedResult)]

    assert len(found) == 15
    sizes = {(one.source.split("/")[1], one.node_count, one.cards_per_node) for one in found}
    assert sizes == {(SYSTEMS[0], 16, 8), (SYSTEMS[1], 32, 8), (SYSTEMS[2], 64, 8)}
    assert {(one.framework, one.framework_version, one.accelerator) for one in found} == {
        ("MindSpore", "0.3.1", "Ascend910")
    }
    for one in found:
        assert one.described
        values = one.described.values
        assert values["test_division"] == one.source.split("/")[1].split("_")[2]
        assert (values["hw_notes"], values["number_of_nodes"]) == ("status: available", one.node_count)


def test_a_result_without_its_systems_file_is_read_nevertheless(submission: Path) -> None:
    (submission / "systems" / f"{SYSTEMS[0]}.json").unlink()
    (submission / "systems" / f"{SYSTEMS[1]}.json").write_text("{not json")

    found = [result for result in read_path(submission) if isinstance(result, ParsedResult)]

    assert sorted((one.node_count or 0) for one in found) == [0] * 10 + [64] * 5
