"""Scaling and single cards in a real browser: what is chosen stays in the address, and charts have names."""

import re
from collections.abc import Iterator

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import assert_fits, axe_violations
from tests.browser.visit import OpenWindow

OLD, NEW = "r1.10 · kat1.8xlarge · 8-card nodes", "r1.11 · kat1.8xlarge · 8-card nodes"


def lawful(nodes: int) -> list[float]:
    """Two runs on so many nodes, close to Amdahl's law at a serial share of 2 %."""
    return [8000 * (1 + beside) / (0.02 + 0.98 / nodes) for beside in (-0.001, 0.001)]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with one version on 1 to 8 nodes, another on two of them, and a run with a slow card."""
    data_dir = tmp_path_factory.mktemp("scaling")
    old = [each for n in (1, 2, 4, 8) for each in a.records(lawful(n), f"old{n}", node_count=n)]
    new = [each for n in (1, 2) for each in a.records(lawful(n), f"new{n}", framework_version="r1.11", node_count=n)]
    slow = a.record("slow", throughputs=[1000.0] * 13 + [900.0] + [1000.0] * 10, node_count=3, workload="another")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*old, *new, slow])
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def test_versions_are_laid_over_each_other_and_a_reload_keeps_them(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/scaling?at=32")
    expect(visit.page.get_by_text("Node count 32: about")).to_be_visible()
    assert visit.column("All numbers", "Nodes") == ["1", "2", "4", "8"]

    visit.pick(visit.keyed("curve").get_by_role("combobox"), NEW)
    expect(visit.page).to_have_url(re.compile("curve=.*curve="))
    visit.reload()

    assert visit.column("All numbers", "Version and hardware") == [OLD] * 4 + [NEW] * 2
    assert visit.column("Prediction for other node counts", "Basis") == ["extrapolated"] * 3
    expect(visit.page.get_by_label(re.compile(r"^Throughput \(samples/s\) over the number of nodes"))).to_be_visible()
    assert_fits(visit)
    assert axe_violations(visit) == []
    assert visit.troubles() == []


def test_a_slow_card_is_found_on_the_map_and_in_the_list(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)

    visit.open("/compare?ids=slow&ids=old1-0")

    visit.page.get_by_text("Throughput per card · 1 slow").click()
    expect(visit.page.get_by_text("Stragglers: 1")).to_be_visible()
    (listed,) = visit.rows("Stragglers, slowest first")
    assert (listed["Node"], listed["Card"], listed["Rank"]) == ("1", "5", "13")
    expect(visit.page.get_by_label(re.compile("^Each card.s throughput against"))).to_be_visible()
    assert_fits(visit)
    assert axe_violations(visit) == []
    assert visit.troubles() == []
