"""Result files: bare numbers become a result; everything else is a problem that names its file."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.results.result_files import MOST_BYTES, Layout, ResultFiles, collect_result, read_result_files
from aisbench_core.domain.results.train_result_info import read_block, render_block
from aisbench_core.model import CollectedResult, Mode, RankResult, RunSpec, ServerResult, TrainResultInfo
from tests.memory_store import MemoryStore

OUT = "/bench/output/job/"
CLUSTER = RunSpec(workload="w", node_count=2, cards_per_node=2)
SERVERS = CLUSTER.model_copy(update={"mode": Mode.SINGLE_SERVER})
GOOD = {
    "throughput_0.json": "10",
    "throughput_1.json": "20.5",
    "throughput_2.json": "3e1",
    "throughput_3.json": " 40\n",
    "ranksize.json": "4",
    "accuracy.json": "0.76",
}
GOOD_SERVERS = {
    "0/throughput_0.json": "10",
    "0/throughput_1.json": "20",
    "1/throughput_0.json": "30",
    "1/throughput_1.json": "40",
    "accuracy_0.json": "0.9",
    "accuracy_1.json": "0.8",
}


def collected(files: Mapping[str, str | bytes | None], spec: RunSpec = CLUSTER) -> CollectedResult:
    """What is made of an output directory; a file of None is not there."""
    contents = {
        OUT + name: text.encode() if isinstance(text, str) else text for name, text in files.items() if text is not None
    }
    store = MemoryStore({"/bench/output/job-of-others/accuracy.json": b"1", **contents})
    return collect_result(store, OUT, spec, INFO)[0]


INFO = TrainResultInfo()


def test_a_cluster_is_as_fast_as_its_ranks_together() -> None:
    found = collected(dict(GOOD))

    assert found.problems == ()
    assert found.info.throughput_ratio == pytest.approx(100.5)
    assert found.info.accuracy == 0.76
    assert [(rank.server, rank.rank) for rank in found.rank_results] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert found.ranks_expected == 4


def test_single_servers_are_as_fast_as_one_of_them_on_average() -> None:
    found = collected(dict(GOOD_SERVERS), SERVERS)

    assert found.problems == ()
    assert found.info.throughput_ratio == pytest.approx(50.0)
    assert found.info.accuracy == pytest.approx(0.85)
    assert found.rank_results[2] == RankResult(1, 0, 30.0)
    assert found.server_results == (ServerResult(0, 30.0, 0.9), ServerResult(1, 70.0, 0.8))


def test_a_server_that_lacks_a_file_has_no_number_and_the_others_keep_theirs() -> None:
    found = collected({**GOOD_SERVERS, "1/throughput_1.json": None, "accuracy_0.json": "much"}, SERVERS)

    assert found.server_results == (ServerResult(0, 30.0, None), ServerResult(1, None, 0.8))
    assert found.info.throughput_ratio is None
    assert found.info.accuracy is None
    assert len(found.problems) == 2


@given(nodes=st.integers(1, 5), cards=st.integers(1, 16))
def test_a_server_has_as_many_cards_as_its_flavor(nodes: int, cards: int) -> None:
    spec = SERVERS.model_copy(update={"node_count": nodes, "cards_per_node": cards})
    files = {f"{server}/throughput_{card}.json": "2.5" for server in range(nodes) for card in range(cards)}
    accuracies = {f"accuracy_{server}.json": "0.5" for server in range(nodes)}

    found = collected({**files, **accuracies}, spec)

    assert found.problems == ()
    assert found.info.throughput_ratio == pytest.approx(2.5 * cards)
    assert [server.throughput for server in found.server_results] == pytest.approx([2.5 * cards] * nodes)


@pytest.mark.parametrize("name", sorted(GOOD))
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "is missing"),
        ("", "is empty"),
        ("  \n", "is empty"),
        ("nan", "holds 'nan', and not a finite number"),
        ("-inf", "holds '-inf', and not a finite number"),
        ("1e400", "holds '1e400', and not a finite number"),
        ("<html><h1>502</h1></html>", "holds '<html><h1>502</h1></html>', and not a number"),
        ("1_000", "holds '1_000', and not a number"),
        ("١٢", "holds '١٢', and not a number"),
        ('{"value": 3}', "holds '{\"value\": 3}', and not a number"),
        ("[12.5]", "holds '[12.5]', and not a number"),
        (b"\xff\xfe1\x00", "and not a number"),
        pytest.param("9" * 5000, "and not a finite number", id="endless"),
        pytest.param("9" * 500_000 + "x", "and not a number", id="almost endless"),
    ],
)
def test_a_file_that_holds_no_number_is_a_problem_by_its_name(
    name: str, content: str | bytes | None, says: str
) -> None:
    found = collected({**GOOD, name: content})

    (problem,) = found.problems
    assert problem.startswith(name)
    assert says in problem
    assert len(problem) < 120


def test_of_ten_thousand_damaged_files_the_first_are_named_and_the_others_counted() -> None:
    names = [f"throughput_{rank}.json" for rank in range(10_000)]
    files = ResultFiles({"ranksize.json": b"10000", "accuracy.json": b"0.76"} | dict.fromkeys(names, b"NaN"))

    found = read_result_files(files, Layout(Mode.CLUSTER, 1250, 8), TrainResultInfo())

    assert len(found.problems) == 17
    assert found.problems[-1] == "files of other ranks without a usable number: 9984"


@pytest.mark.parametrize("content", ["0", "-0.0", "-3", "1e-101", "1e-320", "1e101"])
def test_a_throughput_lies_above_nothing_and_below_what_any_machine_reaches(content: str) -> None:
    found = collected({**GOOD, "throughput_2.json": content})

    assert [problem.partition(" ")[0] for problem in found.problems] == ["throughput_2.json"]
    assert found.info.throughput_ratio is None, "a sum without all ranks would be another figure"
    assert len(found.rank_results) == 3, "what the others did is kept"


@pytest.mark.parametrize("content", ["1e-100", "1e100"])
def test_the_ends_of_what_is_allowed_are_allowed(content: str) -> None:
    assert collected({**GOOD, "throughput_2.json": content}).problems == ()


@pytest.mark.parametrize(("content", "accuracy"), [("0", 0.0), ("76.2", 76.2)])
def test_an_accuracy_of_nothing_and_one_in_percent_are_measurements(content: str, accuracy: float) -> None:
    assert collected({**GOOD, "accuracy.json": content}).info.accuracy == accuracy


@pytest.mark.parametrize("content", ["-0.1", "1e308"])
def test_an_accuracy_that_nothing_can_have_is_a_problem(content: str) -> None:
    found = collected({**GOOD_SERVERS, "accuracy_0.json": content, "accuracy_1.json": content}, SERVERS)

    assert [problem.partition(" ")[0] for problem in found.problems] == ["accuracy_0.json", "accuracy_1.json"]
    assert found.info.accuracy is None


@pytest.mark.parametrize("told", ["3", "5", "4.5", "0"])
def test_a_rank_size_that_is_not_the_number_of_cards_is_a_problem(told: str) -> None:
    found = collected({**GOOD, "ranksize.json": told})

    assert found.problems == (f"ranksize.json holds {told}, and the run has 4 cards",)
    assert found.ranks_expected == 4


def test_one_server_without_an_accuracy_leaves_none_for_all() -> None:
    found = collected({**GOOD_SERVERS, "accuracy_1.json": None}, SERVERS)

    assert found.problems == ("accuracy_1.json is missing",)
    assert found.info.accuracy is None
    assert found.info.throughput_ratio == pytest.approx(50.0)


def test_an_empty_directory_names_every_file_that_is_missing() -> None:
    found = collected({})

    assert {problem.partition(" ")[0] for problem in found.problems} == set(GOOD)
    assert found.rank_results == ()


def test_a_file_that_is_far_too_large_is_not_read() -> None:
    found = collected({**GOOD, "accuracy.json": b"1" * (MOST_BYTES + 1)})

    (problem,) = found.problems
    assert problem.startswith("accuracy.json")
    assert str(MOST_BYTES) in problem


def test_files_of_others_in_the_directory_are_left_alone() -> None:
    found = collected({**GOOD, "model.ckpt": b"\x00" * 100, "deep/accuracy.json": "x"})

    assert found == collected(dict(GOOD))


@pytest.mark.parametrize(
    ("content", "synthetic", "sha256"),
    [
        ('{"name": "cifar", "synthetic": true}', True, ""),
        ('{"name": "cifar", "synthetic": false, "sha256": "ab12"}', False, "ab12"),
        ("{}", False, ""),
        (None, False, ""),
    ],
)
def test_the_code_says_what_its_data_were(content: str | None, synthetic: bool, sha256: str) -> None:
    found = collected({**GOOD, "dataset.json": content})

    assert (found.synthetic_data, found.dataset_sha256, found.problems) == (synthetic, sha256, ())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<html>",
        "[]",
        "null",
        "3",
        b"\xff",
        "[" * 100_000,
        '{"synthetic": "no"}',
        '{"synthetic": 1}',
        '{"sha256": 5}',
    ],
)
def test_a_data_set_that_cannot_be_understood_is_a_problem(content: str | bytes) -> None:
    found = collected({**GOOD, "dataset.json": content})

    (problem,) = found.problems
    assert problem.startswith("dataset.json")
    assert not found.synthetic_data


@given(st.binary(max_size=60), st.sampled_from([*GOOD, "dataset.json"]))
def test_no_content_of_a_file_breaks_collecting(content: bytes, name: str) -> None:
    found = collected({**GOOD, name: content})

    assert len(found.problems) <= 1
    assert all(0 < rank.throughput < math.inf for rank in found.rank_results)
    json.loads(found.raw)


@given(st.lists(st.floats(min_value=1e-6, max_value=1e9), min_size=1, max_size=16))
def test_throughput_is_the_sum_of_what_the_files_say(values: list[float]) -> None:
    spec = RunSpec(workload="w", node_count=len(values))
    ranks: dict[str, str | bytes | None] = {f"throughput_{rank}.json": repr(value) for rank, value in enumerate(values)}

    found = collected({**ranks, "ranksize.json": str(len(values)), "accuracy.json": "1"}, spec)

    assert found.info.throughput_ratio == math.fsum(values)


def test_the_block_has_upstreams_fifteen_keys_with_numbers_as_upstream_writes_them() -> None:
    moment = datetime(2026, 3, 1, 8, 0, 0, 999, tzinfo=UTC)

    block = json.loads(render_block(TrainResultInfo(accuracy=0.76, throughput_ratio=100.5, proc_start_time=moment)))

    assert len(block) == 15
    assert block["accuracy"] == "0.76"
    assert block["throughput_ratio"] == "100.5"
    assert block["proc_start_time"] == "2026-03-01T08:00:00Z"
    assert block["average_power"] is None
    assert "efficientcy" in block


def test_files_of_more_ranks_than_the_run_has_cards_are_a_problem_that_names_them() -> None:
    """A job that counted other cards than it was given cannot be right about those that it was given."""
    more = {
        "throughput_4.json": "50",
        "throughput_11.json": "50",
        "logs/throughput_7.json": "1",
        "throughput_x.json": "1",
    }

    found = collected(GOOD | more)

    assert found.problems == (
        "the run has 4 cards, and there are files of more ranks: throughput_4.json, throughput_11.json",
    )
    assert found.info.throughput_ratio == pytest.approx(100.5)


def test_files_of_more_servers_and_of_more_cards_of_a_server_are_such_a_problem_too() -> None:
    found = collected(GOOD_SERVERS | {"1/throughput_2.json": "50", "2/throughput_0.json": "50"}, SERVERS)

    assert found.problems == (
        "the run has 4 cards, and there are files of more ranks: 1/throughput_2.json, 2/throughput_0.json",
    )


def test_of_many_files_of_more_ranks_the_first_are_named() -> None:
    found = collected(GOOD | {f"throughput_{rank}.json": "50" for rank in range(4, 1004)})

    (problem,) = found.problems
    assert problem.endswith("throughput_19.json, …")


def test_a_block_whose_values_were_not_measured_lacks_none_of_its_keys() -> None:
    read = read_block(render_block(TrainResultInfo(throughput_ratio=8000.0)), UTC)

    assert read.problems == ()
    assert read.info == TrainResultInfo(throughput_ratio=8000.0)
