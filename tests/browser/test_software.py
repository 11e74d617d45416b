"""Packages, log levels and single servers in a real browser: chosen or typed, kept in the draft, shown one by one."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from aisbench_core.model import ServerResult
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import PEOPLE, assert_looks_right, in_turns
from tests.browser.visit import OpenWindow, Visit
from tests.console.test_servers import alone

NNAE = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
TITLES = {"light-english": "Packages and log levels", "dark-chinese": "软件包与日志级别"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with a package that lies ready, and a run of two single servers."""
    data_dir = tmp_path_factory.mktemp("bench")
    (data_dir / "software").mkdir()
    (data_dir / "software" / NNAE).write_text("package")
    record = alone("alone-1", ServerResult(0, 14_147.3, 0.7705), ServerResult(1, 14_155.0, None))
    Ledger(data_dir / "ledger.sqlite3").add(record.run)
    Warehouse(data_dir / "warehouse.duckdb").record(record)
    process = PreparedConsole.start(data_dir)
    yield process
    process.stop()


def opened(visit: Visit, title: str) -> None:
    """The form with the part about software open."""
    visit.open("/configure")
    visit.unfold(title)
    expect(visit.keyed("spec.log_levels.stdout")).to_be_visible()
    visit.rest()


def test_packages_are_picked_or_typed_and_levels_named_and_all_of_it_is_in_the_draft(
    bench: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(bench)
    opened(visit, TITLES["light-english"])

    visit.pick(visit.keyed("spec.update.cann").locator("input"), f"nnae 5.0.2.1 · aarch64 ({NNAE})")
    visit.keyed("spec.update.protobuf").locator("input").fill("/no/such/protobuf.whl")
    visit.page.keyboard.press("Enter")
    visit.rest()
    visit.pick(visit.keyed("spec.log_levels.mindspore").locator("input"), "error (2)")

    expect(visit.keyed("spec.update.protobuf").locator("input")).to_have_value("/no/such/protobuf.whl")
    visit.open("/configure?view=yaml")
    text = visit.page.get_by_role("textbox", name="Spec as YAML")
    for line in (
        f"  cann: {bench.data_dir / 'software' / NNAE}",
        "  protobuf: /no/such/protobuf.whl",
        "  mindspore: error",
    ):
        expect(text).to_contain_text(line)


@pytest.mark.parametrize(("name", "person"), in_turns(["software"]))
def test_the_form_and_the_servers_look_right(bench: ConsoleProcess, window: OpenWindow, name: str, person: str) -> None:
    who: dict[str, Any] = PEOPLE[person]
    visit = window(bench, **who)
    opened(visit, TITLES[person])
    assert_looks_right(visit, f"{name}-{person}")

    visit.go_to("/live?run=alone-1")
    assert_looks_right(visit, f"servers-{person}")
