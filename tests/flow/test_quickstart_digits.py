"""The quickstart workload really trains: on one card, across nodes, and on servers of their own."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from tests.flow.ranks import Ended, numbers_in, run_ranks, wait
from tests.ports import free_port

QUICKSTART = Workloads(HOME / "workloads").get("quickstart_digits")


def test_one_card_learns_to_read_digits(tmp_path: Path) -> None:
    (ended,) = run_ranks(QUICKSTART, tmp_path, 1, 1)

    assert ended.code == 0, ended.text
    results = numbers_in(tmp_path / "out")
    assert list(results) == ["accuracy.json", "accuracy_0.json", "ranksize.json", "throughput_0.json"]
    assert QUICKSTART.target is not None
    assert results["accuracy.json"] == results["accuracy_0.json"] >= QUICKSTART.target.value
    assert results["ranksize.json"] == 1
    assert results["throughput_0.json"] > 100


def test_two_nodes_of_two_cards_train_one_network(tmp_path: Path) -> None:
    ended = run_ranks(QUICKSTART, tmp_path, 2, 2)

    assert [rank.code for rank in ended] == [0] * 4, ended
    results = numbers_in(tmp_path / "out")
    assert list(results) == [
        "accuracy.json",
        "accuracy_0.json",
        "ranksize.json",
        *[f"throughput_{rank}.json" for rank in range(4)],
    ]
    assert results["accuracy.json"] >= 0.95
    assert results["ranksize.json"] == 4
    assert lines(ended[0]) == lines(ended[2])  # the first card of each node tells the same story


def test_servers_on_their_own_each_report_their_own_training(tmp_path: Path) -> None:
    ended = run_ranks(QUICKSTART, tmp_path, 2, 2, SINGLESERVER_MODE="True")

    assert [rank.code for rank in ended] == [0] * 4, ended
    results = numbers_in(tmp_path / "out")
    assert list(results) == [
        "0/throughput_0.json",
        "0/throughput_1.json",
        "1/throughput_0.json",
        "1/throughput_1.json",
        "accuracy_0.json",
        "accuracy_1.json",
        "ranksize.json",
    ]
    assert min(results["accuracy_0.json"], results["accuracy_1.json"]) >= 0.95
    assert results["ranksize.json"] == 2


def test_the_same_seed_gives_the_same_accuracy_and_another_one_another_network(tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).mkdir()
        run_ranks(QUICKSTART, tmp_path / name, 1, 1, "--epochs=2", f"--seed={seed}")

    accuracies = [numbers_in(tmp_path / name / "out")["accuracy.json"] for name in "abc"]
    assert accuracies[0] == accuracies[1] != accuracies[2]


def test_the_data_set_is_named_by_its_digest(tmp_path: Path) -> None:
    run_ranks(QUICKSTART, tmp_path, 1, 1, "--epochs=1")

    told = json.loads((tmp_path / "out" / "dataset.json").read_text("utf-8"))
    digest = hashlib.sha256((QUICKSTART.code_dir / "digits.csv.gz").read_bytes()).hexdigest()
    assert told == {"name": QUICKSTART.dataset.name, "sha256": digest, "synthetic": False}
    assert f"`{digest}`" in (QUICKSTART.folder / "README.md").read_text("utf-8")


def test_a_batch_larger_than_the_data_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (ended,) = run_ranks(QUICKSTART, tmp_path, 1, 1, "--batch_size=2000")

    assert ended == Ended(1, "train.py: batch_size 2000 x 1 ranks is more than the 1437 training samples\n")


def test_an_argument_that_it_does_not_know_is_refused(tmp_path: Path) -> None:
    (ended,) = run_ranks(QUICKSTART, tmp_path, 1, 1, "--epoch=2")

    assert ended.code == 2
    assert "unrecognized arguments: --epoch=2" in ended.text


def test_a_directory_without_digits_is_named(tmp_path: Path) -> None:
    (ended,) = run_ranks(QUICKSTART, tmp_path, 1, 1, f"--data_url={tmp_path}")

    assert ended == Ended(1, f"train.py: there is no digits.csv.gz in {tmp_path}\n")


def test_a_rank_that_does_not_come_is_named() -> None:
    port = free_port()

    first, second = team_members(
        f"Team(0, 3, '127.0.0.1', {port}, timeout=4)", f"Team(1, 3, '127.0.0.1', {port}, timeout=4).sum(np.ones(2))"
    )

    assert f"rank 0 waited 4 s at 127.0.0.1:{port}, and ranks [2] did not come" in first.text
    assert "rank 1 lost rank 0" in second.text


def test_a_missing_first_rank_is_named() -> None:
    port = free_port()

    (ended,) = team_members(f"Team(1, 2, '127.0.0.1', {port}, timeout=0.3)")

    assert f"rank 1 did not find rank 0 at 127.0.0.1:{port} within 0.3 s" in ended.text


def test_a_rank_of_another_job_is_not_let_in() -> None:
    port = free_port()

    first, stranger = team_members(
        f"Team(0, 2, '127.0.0.1', {port}, job='mine', timeout=2)",
        f"Team(1, 2, '127.0.0.1', {port}, job='other', timeout=2)",
    )

    assert "ranks [1] did not come" in first.text
    assert "rank 1 did not find rank 0" in stranger.text


def test_ranks_with_different_models_are_told_so() -> None:
    port = free_port()

    first, _ = team_members(
        f"Team(0, 2, '127.0.0.1', {port}, timeout=60).sum(np.ones(2))",
        f"Team(1, 2, '127.0.0.1', {port}, timeout=60).sum(np.ones(3))",
    )

    assert "rank 1 sends 12 bytes, and rank 0 expects 8: were they started with the same parameters?" in first.text


def test_a_rank_that_leaves_ends_the_others() -> None:
    port = free_port()

    first, _ = team_members(
        f"Team(0, 2, '127.0.0.1', {port}, timeout=60).sum(np.ones(2))", f"Team(1, 2, '127.0.0.1', {port}, timeout=60)"
    )

    assert "rank 0 lost rank 1: the connection was closed" in first.text


def team_members(*calls: str) -> list[Ended]:
    """Processes that each do one thing with a team, once all of them have started."""
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import numpy as np\nfrom team import Team\nprint('here', flush=True)\ninput()\n{call}",
            ],
            cwd=QUICKSTART.code_dir,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for call in calls
    ]
    assert [each.stdout.readline() for each in processes if each.stdout] == ["here\n"] * len(calls)
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return wait(processes)


def lines(ended: Ended) -> list[str]:
    """Epochs with loss and accuracy, as one rank printed them."""
    return re.findall(r"epoch \d+/\d+ .*?accuracy \d\.\d+", re.sub(r"loss \S+ ", "", ended.text))
