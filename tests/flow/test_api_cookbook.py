"""The programs of docs/api.md do what the page says, against a real server."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aisbench_core.config.settings import HOME
from tests import records as a
from tests.flow.api_process import ApiProcess, token_of
from tests.flow.following import GOOD, Bench
from tests.sandbox_process import SandboxProcess

PAGE = (HOME / "docs" / "api.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^\*\*(.+?)\*\*[^`]*?```python\n(.*?)```", PAGE.partition("## Cookbook")[2], re.M | re.S))


@pytest.fixture(autouse=True)
def _token(api_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISBENCH_TOKEN", token_of(api_bench))


def run(name: str, server: ApiProcess) -> int:
    """The exit code of a recipe, with this server's address, and without its waits."""
    program = RECIPES[name].replace("https://bench.example", server.url).replace("poll_seconds=60", "poll_seconds=0.1")
    try:
        exec(compile(program, name, "exec"), {})  # noqa: S102 (the document's own lines)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@contextmanager
def followed(bench: Bench) -> Iterator[None]:
    """A context in which what is launched is followed."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(0.05):
            bench.tick()

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_every_recipe_is_run() -> None:
    assert {*RECIPES} == {
        "Gate a release", "Measure a change", "A nightly series", "In pandas", "What a month cost"
    }  # fmt: skip


def test_a_release_is_stopped_by_a_regression(
    api_bench: Bench, api_server: ApiProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    core = api_bench.core
    core.warehouse.record_many(a.records([8000, 8010, 8020, 7990, 8005], "before", framework_version="r1.9"))
    core.warehouse.record_many(a.records([8000, 8010, 8020, 7990, 8006], "same"))
    passed = run("Gate a release", api_server)
    core.warehouse.record_many(a.records([6000, 6010, 6020, 5990, 6005], "slower", framework_version="r1.11"))
    stopped = run("Gate a release", api_server)

    assert (passed, stopped) == (0, 1)
    assert "regression" in capsys.readouterr().out


@pytest.mark.slow
def test_a_change_is_measured_once_and_compared(
    api_bench: Bench, api_server: ApiProcess, sandbox: SandboxProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    with followed(api_bench):
        run("Measure a change", api_server)
        launched = api_bench.core.series.count()
        run("Measure a change", api_server)

    assert api_bench.core.series.count() == launched
    assert "200.0 samples/s" in capsys.readouterr().out


def test_a_nightly_series_is_scheduled_and_told_of(
    api_bench: Bench, api_server: ApiProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    run("A nightly series", api_server)
    run("A nightly series", api_server)

    (nightly,) = api_bench.core.schedules.all()
    assert (nightly.cron, nightly.time_zone, nightly.weekly_hours) == ("0 2 * * 1-5", "Asia/Shanghai", 40)
    assert capsys.readouterr().out.count("added: 0 2 * * 1-5, Asia/Shanghai") == 2


def test_results_are_read_into_pandas(
    api_bench: Bench, api_server: ApiProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    api_bench.core.warehouse.record_many(a.records([9000, 9010], "pandas"))

    run("In pandas", api_server)

    shown = capsys.readouterr().out
    assert "2026-03-01" in shown
    assert a.FACTS.model in shown


def test_a_month_is_added_up(api_bench: Bench, api_server: ApiProcess, capsys: pytest.CaptureFixture[str]) -> None:
    api_bench.core.warehouse.record_many(a.records([9000], "cost"))

    run("What a month cost", api_server)

    assert "ann " in capsys.readouterr().out
