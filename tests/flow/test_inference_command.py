"""`aisbench inference`: results of inference are imported once, ranked apart, and leave no trace in training."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from tests.unit.inference_files import offline, service
from tests.unit.old_logs import RESNET
from tests.unit.test_inference_files import write


def type_in(data_dir: Path, *words: str) -> Result:
    return CliRunner().invoke(main, words, env={"AISBENCH_DATA_DIR": str(data_dir)})


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A training was imported."""
    (tmp_path / "train.log").write_text(RESNET)
    typed = type_in(tmp_path / "data", "import", str(tmp_path / "train.log"))
    assert typed.exit_code == 0, typed.output
    return tmp_path / "data"


def test_results_are_imported_once_listed_by_rank_and_removed(data_dir: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "measured", {**service(), **offline()})
    facts = ("--precision", "w8a8", "--accelerator", "Ascend 910B", "--cards", "8")

    first = type_in(data_dir, "inference", "import", str(folder), *facts)
    again = type_in(data_dir, "inference", "import", str(folder), *facts)
    listed = json.loads(type_in(data_dir, "inference", "list", "--json").stdout)
    table = type_in(data_dir, "inference", "list").stdout

    assert first.stdout == "2 results, 2 of them new\n"
    assert again.stdout == "2 results, 0 of them new\n"
    assert [(one["rank"], one["result"]["throughput"]) for one in listed] == [(1, 407.166), (1, 115.78)]
    assert {one["result"]["precision"] for one in listed} == {"w8a8"}
    assert "tokens/s" in table
    assert "2,690" in table
    assert type_in(data_dir, "inference", "remove", listed[0]["result_id"]).exit_code == 0
    assert type_in(data_dir, "inference", "remove", listed[0]["result_id"]).exit_code == 2
    assert type_in(data_dir, "inference", "list", "--csv").stdout.count("\n") == 2


TRAINING = (
    ("leaderboard", "--region", "imported", "--json"),
    ("regress", "--region", "imported", "--json"),
    ("imports", "list", "--json"),
    ("spending", "--json"),
    ("sql", "select * from v_runs", "--format", "csv"),
)


OF_THE_EXPORT = ("exported_at_utc", "audit_head")  # the import of inference stands in the audit


def answer_training(data_dir: Path) -> list[tuple[int, str]]:
    typed = [type_in(data_dir, *words) for words in TRAINING]
    exported = csv.DictReader(type_in(data_dir, "export", "--region", "imported").stdout.splitlines())
    rows = [{name: cell for name, cell in row.items() if name not in OF_THE_EXPORT} for row in exported]
    return [*((each.exit_code, each.stdout) for each in typed), (0, str(rows))]


def test_no_command_about_training_answers_otherwise_than_before(data_dir: Path, tmp_path: Path) -> None:
    before = answer_training(data_dir)
    site = type_in(data_dir, "publish", str(tmp_path / "before"), "--region", "imported")

    type_in(data_dir, "inference", "import", str(write(tmp_path / "measured", {**service(), **offline()})))

    assert answer_training(data_dir) == before
    assert {code for code, _ in before} <= {0, 2, 6}
    assert (
        type_in(data_dir, "publish", str(tmp_path / "after"), "--region", "imported").exit_code == site.exit_code == 0
    )
    published = {file.name for file in (tmp_path / "after").rglob("*")}
    assert published == {file.name for file in (tmp_path / "before").rglob("*")}
    assert not [
        file
        for file in (tmp_path / "after").rglob("*.*")
        if file.is_file() and b"vllm-api-stream-chat" in file.read_bytes()
    ]


def test_a_folder_without_results_is_told_and_stores_nothing(data_dir: Path, tmp_path: Path) -> None:
    typed = type_in(data_dir, "inference", "import", str(write(tmp_path / "none", {"x.json": "{}"})))

    assert typed.exit_code == 2
    assert "not read: x.json: it is no result of AISBench/benchmark or ais_bench" in typed.stderr
    assert "no results found" in typed.stderr
