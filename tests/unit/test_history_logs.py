"""Old logs: what is in them is found, once for each run, and what is missing is said."""

import io
from datetime import UTC, datetime, timedelta, timezone

import pytest

from aisbench_core.base.messages import make_verbatim
from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult, Unread
from aisbench_core.model import Mode, RankResult
from tests.unit.old_logs import BERT, BERT_BLOCK, BERT_PATH, RESNET, RESNET_BLOCK, block, modelarts, stubs

PLACEHOLDERS = (
    "average_power",
    "dataload_end_time",
    "dataload_start_time",
    "efficientcy",
    "energy_consumption",
    "max_power",
    "prepare_end_time",
    "prepare_start_time",
    "proc_end_time",
    "proc_start_time",
    "resource_util_ratio",
)


def found_in(log: str | bytes) -> list[ParsedResult | Unread]:
    content = log.encode() if isinstance(log, str) else log
    return list(read_log(io.BytesIO(content), "run.log", UPSTREAM_ZONE))


def results(log: str | bytes) -> list[ParsedResult]:
    return [each for each in found_in(log) if isinstance(each, ParsedResult)]


def only(log: str | bytes) -> ParsedResult:
    (found,) = found_in(log)
    assert isinstance(found, ParsedResult)
    return found


# --- what the manual shows ----------------------------------------------------------------------------


def test_the_manuals_bert_example_is_read_to_the_last_digit() -> None:
    found = only(BERT)

    assert (found.info.throughput_ratio, found.info.accuracy) == (450.58182754928634, 0.7138610482215881)
    assert found.server_throughputs == (450.77798444604605, 450.38567065252664)
    assert found.server_accuracies == (0.7138142585754395, 0.7139078378677368)
    assert (found.mode, found.node_count, found.cards_per_node) == (Mode.SINGLE_SERVER, 2, None)
    assert (found.workload, found.model, found.framework, found.framework_version) == (
        "mindspore_bert",
        "bert",
        "MindSpore",
        "r1.3",
    )
    assert found.workpath == BERT_PATH
    assert found.config_info.startswith("testid:20210126-ljp0IY, Mode:training, Model:resnet50_v1.5")
    assert (found.raw, found.problems) == (BERT_BLOCK, ())


def test_the_manuals_resnet_example_is_read_to_the_last_digit() -> None:
    found = only(RESNET)

    assert (found.info.throughput_ratio, found.info.accuracy) == (14151.181727494011, 0.7706197102864583)
    assert (found.model, found.framework_version, found.raw) == ("resnet", "r1.3", RESNET_BLOCK)


def test_what_upstream_writes_without_measuring_is_not_measured() -> None:
    found = only(BERT)

    assert found.placeholders == PLACEHOLDERS
    assert {getattr(found.info, key) for key in PLACEHOLDERS} == {None}


def test_times_without_a_zone_are_those_of_upstreams_machines_unless_somebody_says_otherwise() -> None:
    (elsewhere,) = read_log(io.BytesIO(BERT.encode()), "run.log", timezone(timedelta(hours=1)))

    assert only(BERT).started_at == datetime(2022, 7, 13, 3, 27, 19, tzinfo=UTC)
    assert only(BERT).ended_at == datetime(2022, 7, 13, 5, 24, 43, tzinfo=UTC)
    assert isinstance(elsewhere, ParsedResult)
    assert elsewhere.started_at == datetime(2022, 7, 13, 10, 27, 19, tzinfo=UTC)
    assert elsewhere.identity == only(BERT).identity


# --- jobs in cluster mode -----------------------------------------------------------------------------


def test_a_log_of_train_modelarts_alone_is_a_result_with_its_job_and_every_rank() -> None:
    found = only(modelarts())

    assert found.info.throughput_ratio == sum(900.5 + rank for rank in range(16))
    assert found.info.accuracy == 0.7612
    assert found.rank_results == tuple(RankResult(0, rank, 900.5 + rank) for rank in range(16))
    assert (found.mode, found.node_count, found.cards_per_node, found.ranks_expected) == (Mode.CLUSTER, 2, 8, 16)
    assert (found.job_id, found.job_name) == (
        "c8e62b62-9529-4696-ba08-2969f4861a5d",
        "aisbench-debug2022_07_13-11_27_20",
    )
    assert found.flavor == "modelarts.kat1.8xlarge"
    assert found.engine_version == "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64"
    assert found.started_at == datetime(2022, 7, 13, 3, 27, 23, tzinfo=UTC)
    assert found.raw.count("read throughput") == 16


def test_a_report_and_a_block_are_one_run() -> None:
    total = str(sum(900.5 + rank for rank in range(16)))
    log = modelarts() + stubs(BERT_PATH, "2022-7-13 11:27:19", "2022-7-13 13:24:48", block(total, "0.7612", *TIMES))

    found = only(log)

    assert found.job_id == "c8e62b62-9529-4696-ba08-2969f4861a5d"
    assert (found.model, len(found.rank_results), found.problems) == ("bert", 16, ())


def test_a_block_that_says_something_else_than_its_report_is_a_problem() -> None:
    found = only(BERT.replace('"450.58182754928634"', '"451.5"'))

    assert found.info.throughput_ratio == 451.5
    assert "the block's throughput_ratio is 451.5, but the report above it says 450.58182754928634" in found.problems


def test_a_version_of_a_job_in_the_older_interface_is_a_run_of_its_own() -> None:
    def log(version: str) -> str:
        return (
            f"inputs:/b/d/ job_name:aisbench-debug ret instance:<x>\n"
            f"create sucess job_id:3043 resource_id:job3be1f0e5 version_name:{version} create_time:1657682843000\n"
            "report result total_throughput : 900.5\nreport result accuracy:0.7612\n"
        )

    first, second = results(log("V1") + log("V2"))

    assert (first.job_id, first.job_name) == ("3043", "aisbench-debug")
    assert first.identity != second.identity
    assert first.values_identity == second.values_identity


TIMES = ("2022-07-13 11:27:19", "2022-07-13 13:24:43")


# --- several runs, cut off ----------------------------------------------------------------------------


def test_several_runs_in_one_log_are_numbered() -> None:
    found = results(BERT + RESNET + modelarts())

    assert [(each.number, each.model) for each in found] == [(1, "bert"), (2, "resnet"), (3, "")]


def test_two_jobs_without_blocks_are_two_runs() -> None:
    found = results(modelarts("a" * 36) + modelarts("b" * 36, each=800.0))

    assert [each.job_id for each in found] == ["a" * 36, "b" * 36]


def test_a_job_without_a_result_is_named_and_does_not_lend_its_name_to_the_next() -> None:
    failed = "create job sucess. job_id:dead  job name:first create_time:1657682843000\ntask failed\n"

    unread, found = found_in(failed + modelarts("beef"))

    assert unread == Unread("run.log", make_verbatim("job dead has no result here: it failed, or the log is truncated"))
    assert isinstance(found, ParsedResult)
    assert found.job_id == "beef"


def test_a_log_that_is_cut_off_inside_the_block_keeps_what_is_there_and_says_so() -> None:
    found = only(BERT[: BERT.index('"proc_end_time"')])

    assert found.problems[0] == "the block train_result_info is truncated"
    assert found.info.throughput_ratio == 450.58182754928634
    assert "throughput_ratio comes from the report above the block" in found.problems


def test_half_a_number_is_no_number() -> None:
    log = stubs(BERT_PATH, *TIMES, BERT_BLOCK)

    found = only(log[: log.index("8182754928634")])

    assert found.info.throughput_ratio is None
    assert any("lacks" in problem and "throughput_ratio" in problem for problem in found.problems)


def test_a_run_that_follows_a_block_that_is_cut_off_is_found() -> None:
    found = results(BERT[: BERT.index('"proc_end_time"')] + "\n" + RESNET)

    assert [each.model for each in found] == ["bert", "resnet"]


def test_the_end_of_a_log_is_enough_if_the_throughput_is_in_it() -> None:
    found = only(BERT[BERT.index('   "prepare_end_time"') :])

    assert found.info.throughput_ratio == 450.58182754928634
    assert any("lacks accuracy" in problem for problem in found.problems)


def test_a_header_without_values_is_told() -> None:
    log = f"[2022-7-13 11:27:19][INFO]workpath:{BERT_PATH} go testcase.\n[INFO]train_result_info: "

    assert [each.reason for each in found_in(log) if isinstance(each, Unread)] == [
        "a line train_result_info is followed by no values: the log is truncated",
        "a run has no result here: it failed, or the log is truncated",
    ]


def test_a_log_of_something_else_holds_nothing() -> None:
    (unread,) = found_in("INFO: hello\nthroughput is fine\naccuracy: good\n")

    assert unread == Unread(
        "run.log",
        make_verbatim("it contains neither a line train_result_info nor a report of ais-bench-stubs or MLPerf"),
        is_foreign=True,
    )


@pytest.mark.parametrize("value", ["0", "-3", "nan", "fast", "1e400", ""])
def test_a_throughput_that_is_none_is_a_problem_and_not_a_number(value: str) -> None:
    found = only(stubs(BERT_PATH, *TIMES, block(value, "0.7", *TIMES)))

    assert found.info.throughput_ratio is None
    assert any(problem.startswith("throughput_ratio holds") for problem in found.problems)


def test_how_cards_stand_in_nodes_is_not_guessed() -> None:
    found = only(modelarts().replace("'train_instance_count': 2", "'train_instance_count': 0"))

    assert (found.node_count, found.cards_per_node, found.ranks_expected) == (None, None, 16)


def test_a_log_of_the_sandbox_tells_of_rehearsals() -> None:
    found = only("[ModelArts Service Log][init] AISBench sandbox: 8 cards on this machine\n" + RESNET)

    assert found.rehearsal
    assert not only(RESNET).rehearsal
