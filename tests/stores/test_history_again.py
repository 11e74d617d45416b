"""The same results read again, with other columns, or by two at once: still the same runs."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from aisbench_core.base.errors import WarehouseBusy
from aisbench_core.config.settings import Settings
from aisbench_core.exchange.importing import turn
from aisbench_core.exchange.importing.choices import Choices
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER, named
from tests.found_results import found

WHO = "ann"


@pytest.fixture
def core(tmp_path: Path) -> Core:
    return open_core(Settings(data_dir=tmp_path / "data"))


def everything(core: Core) -> list[RunRow]:
    return list(core.warehouse.runs.list_rows(BoardQuery("imported", include_invalid=True, limit=1000)).rows)


TABLE = "模型,吞吐量,备用,何时\nresnet50,8000.5,7000.5,2025-03-01 10:00:00\nbert,450.5,400.5,2025-03-02 10:00:00\n"
FIRST, THEN = {"何时": ""}, {"何时": "total_start_time"}


def read(core: Core, table: Path, meanings: Mapping[str, str]) -> list[ParsedResult]:
    return [each for each in core.imports.read(table, meanings) if isinstance(each, ParsedResult)]


def test_a_row_whose_columns_were_corrected_is_the_run_that_it_was(core: Core, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text(TABLE, "utf-8")
    first = core.imports.save(read(core, table, FIRST), Choices(), named(WHO))

    again = core.imports.save(read(core, table, THEN), Choices(), named(WHO))
    before = everything(core)
    replaced = core.imports.save(read(core, table, THEN), Choices(replace=True), named(WHO))

    assert (len(first.new), again.new, again.existing, again.corrected) == (2, (), 2, 2)
    assert {row.began_at for row in before} == {None}
    assert sorted(replaced.new) == sorted(first.new)
    assert sorted(row.began_at.day for row in everything(core) if row.began_at) == [1, 2]
    assert core.imports.save(read(core, table, THEN), Choices(), named(WHO)).corrected == 0
    assert core.storage.check(TESTER).damages == ()


LINE = "step: {step}  loss: 8.{step:04}  memory: 1.00GiB(1.05%)  tps: 7,{step:03}  tflops: 1.00  mfu: 9.50%\n"


@pytest.mark.parametrize("was_by_its_text", [True, False], ids=["now", "earlier"])
def test_a_log_is_the_run_that_it_was_whatever_was_read_from_it(
    core: Core, tmp_path: Path, was_by_its_text: bool
) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(LINE.format(step=step) for step in range(1, 41)), "utf-8")
    [result] = read(core, log, {})
    known = result.values_identity if was_by_its_text else result.earlier_identity
    first = core.imports.save(
        [replace(result, raw="{}", values_identity=known, earlier_identity="what less was read as")],
        Choices(),
        named(WHO),
    )
    log.write_bytes(log.read_bytes().replace(b"\n", b"\r\n"))

    again = core.imports.save(read(core, log, {}), Choices(), named(WHO))
    replaced = core.imports.save(read(core, log, {}), Choices(replace=True), named(WHO))

    assert (len(first.new), again.new, again.existing) == (1, (), 1)
    assert replaced.new == first.new


def test_of_a_row_that_became_two_runs_before_neither_is_taken_for_the_other(core: Core, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text(TABLE, "utf-8")
    core.imports.save(read(core, table, FIRST), Choices(), named(WHO))
    others = [replace(each, is_row=False) for each in read(core, table, THEN)]
    assert len(core.imports.save(others, Choices(), named(WHO)).new) == 2

    saved = [core.imports.save(read(core, table, meanings), Choices(), named(WHO)) for meanings in (FIRST, THEN)]

    assert [(each.new, each.existing, each.corrected) for each in saved] == [((), 2, 0)] * 2


def test_rows_that_say_something_else_are_other_runs_wherever_they_stand(core: Core, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text(TABLE, "utf-8")
    core.imports.save(read(core, table, THEN), Choices(), named(WHO))
    table.write_text(TABLE.replace("8000.5", "8100.5"), "utf-8")

    saved = core.imports.save(read(core, table, THEN), Choices(), named(WHO))

    assert (len(saved.new), saved.existing, saved.corrected) == (1, 1, 0)


def test_of_two_imports_of_a_file_at_once_one_finds_it_new(core: Core) -> None:
    results = [found(f"{number}.log", job=f"job-{number}") for number in range(40)]

    with ThreadPoolExecutor(4) as pool:
        saved = list(pool.map(lambda _: core.imports.save(iter(results), Choices(), named(WHO)), range(4)))

    assert sorted((len(each.new), each.existing) for each in saved) == [(0, 40)] * 3 + [(40, 0)]


def test_an_import_that_holds_its_turn_too_long_is_named(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "TURN_S", 0.01)

    with FileLock(core.settings.data_dir / turn.LOCK), pytest.raises(WarehouseBusy, match="another import"):
        core.imports.save([found()], Choices(), named(WHO))
