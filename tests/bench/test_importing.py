"""Importing old results, the whole way from logs to the leaderboard, against storing them one by one."""

from itertools import islice
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.exchange.importing.choices import Choices
from aisbench_core.exchange.readers.reading import read_path
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.bench.test_history import log_of
from tests.bench.test_transfers import seconds

LOGS = 10_000
ONE_BY_ONE = 100
CHOICES = Choices()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for run in range(LOGS):
        folder = tmp_path / "logs" / f"{run // 500}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{run}.log").write_text(log_of(run), "utf-8")
    return tmp_path / "logs"


def opened(folder: Path) -> Core:
    return open_core(Settings(data_dir=folder))


def found_in(folder: Path) -> list[ParsedResult]:
    return [each for each in read_path(folder) if isinstance(each, ParsedResult)]


def test_ten_thousand_logs_are_imported_in_chunks_and_not_one_by_one(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    core, other = opened(tmp_path / "ours"), opened(tmp_path / "naive")
    some = list(islice(found_in(logs), ONE_BY_ONE))

    ours = seconds(lambda: core.imports.save(found_in(logs), CHOICES, named("bench")))
    again = seconds(lambda: core.imports.save(found_in(logs), CHOICES, named("bench")))
    slow = seconds(lambda: [other.imports.save([found], CHOICES, named("bench")) for found in some]) / ONE_BY_ONE * LOGS

    with capsys.disabled():
        print(f"\n{LOGS:,} logs imported in {ours:.1f} s (goal 60), again in {again:.1f} s; ", end="")
        print(f"storing alone, one by one, {slow:.0f} s: {slow / ours:.1f} x")
    assert core.warehouse.runs.list_rows(BoardQuery("imported", include_invalid=True)).total == LOGS
    assert slow / ours >= 2
    assert again < ours
