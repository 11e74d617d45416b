"""Old results in folders: training code's files by rank, whichever mode wrote them, wherever they lie."""

import io
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from aisbench_core.base.messages import make_verbatim
from aisbench_core.exchange.readers.reading import read_files, read_path
from aisbench_core.exchange.readers.results import InputFile, ParsedResult, Unread
from aisbench_core.model import Mode, RankResult
from tests.unit.old_logs import BERT, RESNET, modelarts

JOB = "c8e62b62-9529-4696-ba08-2969f4861a5d"


def files_of(contents: Mapping[str, str | bytes]) -> list[InputFile]:
    def opened(content: str | bytes) -> io.BytesIO:
        return io.BytesIO(content.encode() if isinstance(content, str) else content)

    return [InputFile(name, None, lambda content=content: opened(content)) for name, content in contents.items()]  # type: ignore[misc]  # a default that binds


def found_in(contents: Mapping[str, str | bytes]) -> list[ParsedResult | Unread]:
    return list(read_files(files_of(contents), "output"))


def only(contents: Mapping[str, str | bytes]) -> ParsedResult:
    (found,) = found_in(contents)
    assert isinstance(found, ParsedResult)
    return found


def cluster(ranks: int = 16) -> dict[str, str]:
    return {
        "ranksize.json": str(ranks),
        "accuracy.json": "0.7612\n",
        **{f"throughput_{rank}.json": f"{900.5 + rank}" for rank in range(ranks)},
    }


def single_server() -> dict[str, str]:
    ranks = {
        f"{server}/throughput_{rank}.json": f"{100 * (server + 1) + rank}" for server in range(2) for rank in range(8)
    }
    return {**ranks, "accuracy_0.json": "0.5", "accuracy_1.json": "0.75"}


def test_an_output_directory_of_a_cluster_is_one_result_with_every_rank() -> None:
    found = only(cluster())

    assert found.info.throughput_ratio == sum(900.5 + rank for rank in range(16))
    assert found.info.accuracy == 0.7612
    assert found.rank_results == tuple(RankResult(0, rank, 900.5 + rank) for rank in range(16))
    assert (found.mode, found.node_count, found.cards_per_node, found.ranks_expected) == (Mode.CLUSTER, None, None, 16)
    assert (found.source, found.number, found.problems) == ("output", 1, ())
    assert found.raw.startswith("accuracy.json: 0.7612\nranksize.json: 16\nthroughput_0.json: 900.5\n")


def test_servers_that_trained_alone_are_one_result_with_their_means() -> None:
    found = only(single_server())

    assert found.info.throughput_ratio == (sum(100 + rank for rank in range(8)) + sum(200 + r for r in range(8))) / 2
    assert found.info.accuracy == 0.625
    assert (found.mode, found.node_count, found.cards_per_node) == (Mode.SINGLE_SERVER, 2, 8)
    assert found.server_throughputs == (828.0, 1628.0)
    assert found.server_accuracies == (0.5, 0.75)
    assert len(found.rank_results) == 16


def test_the_result_folder_of_an_offline_package_is_read() -> None:
    ranks = {f"result/throughput_rank_{rank}": "2.5" for rank in range(8)}

    found = only(
        {**ranks, "result/eval_acc.log": "0.7", "result/result.log": '{"throughput_ratio": 20, "accuracy": 0.7}'}
    )

    assert (found.info.throughput_ratio, found.info.accuracy) == (20.0, 0.7)
    assert (found.source, found.node_count, found.cards_per_node, found.problems) == ("result", None, None, ())


def test_without_ranks_the_sum_of_an_offline_package_is_a_result_too() -> None:
    found = only({"result/result.log": '{"throughput_ratio": 20.5, "accuracy": 0.7}'})

    assert (found.info.throughput_ratio, found.info.accuracy) == (20.5, 0.7)


@pytest.mark.parametrize(
    ("gone", "problem"),
    [
        ("throughput_3.json", "throughput_3.json is missing"),
        ("accuracy.json", "accuracy.json is missing"),
        ("ranksize.json", "ranksize.json is missing"),
    ],
)
def test_a_file_that_is_missing_is_a_problem(gone: str, problem: str) -> None:
    contents = cluster()
    del contents[gone]

    assert problem in only(contents).problems


def test_a_short_set_of_ranks_has_no_throughput() -> None:
    contents = {**cluster(), "ranksize.json": "24"}

    assert only(contents).info.throughput_ratio is None


def test_a_file_that_holds_no_number_is_a_problem_that_shows_what_it_holds() -> None:
    contents = {**cluster(), "throughput_3.json": "fast"}

    assert "throughput_3.json holds 'fast', and not a number" in only(contents).problems


def test_a_result_file_that_is_no_result_file_is_not_read_into_memory() -> None:
    contents: dict[str, str | bytes] = {**cluster(), "throughput_3.json": b"1" * (2 * 1024**2)}

    assert "throughput_3.json is larger than 1048576 bytes" in only(contents).problems


def test_the_names_of_the_jobs_logs_tell_the_job_and_its_nodes() -> None:
    logs = {f"modelarts-job-{JOB}-worker-{node}.log": "step 1\n" for node in range(4)}

    found = only({**cluster(16), **logs})

    assert (found.job_id, found.node_count, found.cards_per_node) == (JOB, None, None)


def test_the_logs_of_the_older_interface_tell_the_jobs_name() -> None:
    logs = {"job3be1f0e5-job-aisbench-debug-0.log": "step 1\n"}

    assert only({**cluster(8), **logs}).job_name == "aisbench-debug"


def test_a_copy_of_a_folder_is_the_same_result_and_another_measurement_is_not() -> None:
    copy = {f"copy/{name}": content for name, content in cluster().items()}
    other = {f"other/{name}": content for name, content in {**cluster(), "throughput_0.json": "1"}.items()}

    found = [each for each in found_in({**cluster(), **copy, **other}) if isinstance(each, ParsedResult)]

    assert [each.source for each in found] == ["output", "copy", "other"]
    assert len({each.identity for each in found}) == 2


def test_the_log_and_the_output_directory_of_a_job_are_the_same_run() -> None:
    logs = {f"out/modelarts-job-{JOB}-worker-{node}.log": "step 1\n" for node in range(2)}
    files = {f"out/{name}": content for name, content in cluster().items()}

    log, folder = found_in({"run.log": modelarts(JOB), **files, **logs})

    assert isinstance(log, ParsedResult)
    assert isinstance(folder, ParsedResult)
    assert log.identity == folder.identity


def test_data_of_the_reporter_is_known_to_be_made_up() -> None:
    assert only({**cluster(), "dataset.json": '{"name": "x", "synthetic": true, "sha256": ""}'}).synthetic_data


def test_an_accuracy_alone_is_no_result() -> None:
    (unread,) = found_in({"a/accuracy.json": "0.7"})

    assert unread == Unread("a", make_verbatim("it contains accuracy.json, but no throughput of any rank"))


def test_more_ranks_than_there_are_in_the_world_are_refused() -> None:
    (unread,) = found_in({"ranksize.json": "99999999", "throughput_0.json": "1"})

    assert unread == Unread("output", make_verbatim("it has more than 65,536 ranks"))


# --- folders on disk ----------------------------------------------------------------------------------


def written(folder: Path, contents: Mapping[str, str]) -> Path:
    for name, content in contents.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")
    return folder


def test_a_folder_is_searched_wholly_and_says_what_it_did_not_open(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "old",
        {
            "2022/bert.log": BERT,
            "2022/deep/er/resnet.txt": RESNET,
            "out/readme.md": "train_result_info: no",
            "code/train.py": "print('train_result_info: {')",
            ".git/bert.log": BERT,
            **{f"obs/{name}": content for name, content in cluster().items()},
        },
    )

    found = list(read_path(folder))

    assert [each.source for each in found] == ["2022/bert.log", "2022/deep/er/resnet.txt", "obs", "old"]
    assert found[-1] == Unread("old", make_verbatim("2 files of other kinds were not opened: .py (1), .md (1)"))
    (folder / "code" / "train.py").unlink()
    assert [*read_path(folder)][-1] == Unread("old", make_verbatim("1 file of another kind was not opened: .md (1)"))


def test_a_file_that_somebody_names_is_read_whatever_its_ending(tmp_path: Path) -> None:
    file = tmp_path / "bert.md"
    file.write_text(BERT, "utf-8")

    assert [each.source for each in read_path(file)] == ["bert.md"]


def test_a_package_tells_the_model_of_what_is_in_it(tmp_path: Path) -> None:
    package = "train_huawei_train_mindspore_resnet-Ais-Benchmark-Stubs-aarch64-1.0-r1.8_modelarts"
    folder = written(tmp_path / "x", {f"{package}/log/run.log": modelarts()})

    (found,) = read_path(folder)

    assert isinstance(found, ParsedResult)
    assert (found.model, found.framework_version) == ("resnet", "r1.8")


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", {"run.log": BERT})
    (folder / "again").symlink_to(folder)
    (folder / "copy.log").symlink_to(folder / "run.log")

    found, *links = sorted(read_path(folder), key=lambda each: isinstance(each, Unread))

    assert found.source == "run.log"
    assert links == [
        Unread(name, make_verbatim("it is a symbolic link, which is not followed")) for name in ("again", "copy.log")
    ]


def test_of_many_symbolic_links_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", {"run.log": BERT})
    for number in range(25):
        (folder / f"link{number:02}").symlink_to(folder)

    unread = [each for each in read_path(folder) if isinstance(each, Unread)]

    assert len(unread) == 21
    assert unread[-1] == Unread("x", make_verbatim("symbolic links that are not followed either: 5"))


@pytest.mark.parametrize("size", [2, 8])
def test_a_rank_file_beyond_the_rank_size_is_a_finding(tmp_path: Path, size: int) -> None:
    ranks = {f"throughput_{rank}.json": "900.5" for rank in range(10)}
    folder = written(tmp_path / "x", {"ranksize.json": str(size), "accuracy.json": "0.76", **ranks})

    (found,) = read_path(folder)

    assert isinstance(found, ParsedResult)
    named = ", ".join(f"throughput_{rank}.json" for rank in range(size, 10))
    assert found.problems == (f"ranksize.json says {size} ranks, but there are more files: {named}",)
    assert len(found.rank_results) == size


def test_folders_that_are_nested_without_end_are_left(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)

    (unread,) = read_path(tmp_path)

    assert isinstance(unread, Unread)
    assert unread.reason == "its folders are nested more than 32 deep"


def test_what_a_job_printed_itself_is_no_news(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", {f"modelarts-job-{JOB}-worker-0.log": "step 1\n", "config.json": "{}"})

    assert list(read_path(folder)) == []


def test_folders_with_names_in_gbk_are_read_and_named(tmp_path: Path) -> None:
    for name, content in (("测试".encode("gbk"), BERT), (b"\xff", RESNET)):
        folder = tmp_path / os.fsdecode(name)
        folder.mkdir()
        (folder / "train.log").write_text(content, "utf-8")

    found = list(read_path(tmp_path))

    assert sorted(each.source for each in found) == ["%FF/train.log", "测试/train.log"]


def test_a_file_whose_own_name_is_in_gbk_is_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode("日志.log".encode("gbk"))
    file.write_text(BERT, "utf-8")

    (found,) = read_path(file)

    assert found.source == "日志.log"
