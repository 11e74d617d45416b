"""The data folder of each release is opened by today's code: same runs, same figures, sound."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main

FOLDERS = Path(__file__).parents[1] / "old_folders"
RELEASES = ("0.1.0",)

FIGURES = (
    *("title", "fingerprint", "node_count", "cards_per_node", "origin", "runs", "throughput", "mean", "best", "cv"),
    *("ci_low", "ci_high", "per_card", "accuracy", "reached", "rank_from", "rank_to", "median_run_id", "best_run_id"),
)


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(release: str, tmp_path: Path) -> Path:
    """The data folder as the release left it."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    with tarfile.open(FOLDERS / f"{release}.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder


def run(folder: Path, *words: str) -> Result:
    return CliRunner(env={"AISBENCH_DATA_DIR": str(folder), "AISBENCH_PROFILE": "sandbox"}).invoke(main, words)


def ask(folder: Path, *words: str) -> Any:
    return json.loads(run(folder, *words, "--json").stdout)


def answers(folder: Path) -> dict[str, Any]:
    """What the commands say of its runs."""
    runs = {row["run_id"]: row["state"] for row in ask(folder, "runs")["runs"]}
    boards = [("leaderboard", "--rehearsals"), ("leaderboard", "--region", "imported")]
    rows = [row for words in boards for row in ask(folder, *words)["rows"]]
    return {"runs": runs, "leaderboard": [{name: row[name] for name in FIGURES} for row in rows]}


def test_runs_and_figures_are_those_of_the_release(release: str, folder: Path) -> None:
    assert answers(folder) == json.loads((FOLDERS / f"{release}.json").read_text("utf-8"))


def test_nothing_in_it_is_damaged(folder: Path) -> None:
    checked = run(folder, "warehouse", "check")
    audited = run(folder, "audit", "--verify")

    assert (checked.exit_code, checked.stdout) == (0, "no problems found\n"), checked.output
    assert audited.exit_code == 0, audited.output
