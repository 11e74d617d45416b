"""Pages over a damaged ledger: results are shown, the menu says what is wrong, the rest is refused in a sentence."""

import re
from pathlib import Path

import pytest

from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import COMPONENT


@pytest.fixture
def ledger(data_dir: Path) -> Path:
    """The ledger of a console with recorded runs; its beginning was overwritten."""
    Warehouse(data_dir / "warehouse.duckdb").record_many(a.records([7900, 8000, 8100], "run"))
    file = data_dir / "ledger.sqlite3"
    Ledger(file).add(a.run("run-0"))
    file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])
    return file


def test_pages_of_results_are_shown_and_the_menu_names_the_damaged_ledger(open_page: OpenPage, ledger: Path) -> None:
    for page in ("leaderboard", "compare", "scaling", "history"):
        app = open_page(page, **({"ids": ["run-0", "run-1"]} if page == "compare" else {}))

        assert [error.value.endswith("file is not a database") for error in app.error] == [True], page
        assert [error.value for error in app.sidebar.error] == [error.value for error in app.error], page
        grids = [each.proto.json for each in app.get(COMPONENT)]
        shown = f"{texts(app)}{[each.value.to_string() for each in app.main.dataframe]}{grids}"
        assert re.search("7,?900|8,?000|8,?100", shown), (page, shown)
    assert ledger.read_bytes()[:100] == b"\0" * 100


def test_home_shows_the_verdicts_without_the_runs_of_the_ledger(open_page: OpenPage, ledger: Path) -> None:
    assert ledger.exists()

    app = open_page("home")

    assert [header.value for header in app.header] == ["Changes"]
    assert not app.main.error


def test_health_shows_the_rest_beside_the_damaged_ledger(open_page: OpenPage, ledger: Path) -> None:
    app = open_page("health")

    assert ledger.exists()
    assert not app.exception
    assert [header.value for header in app.header][:3] == ["Follower", "Cloud", "Stored on this machine"]
    assert "move ledger.sqlite3 with its" in texts(app).replace("\\", "")
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Results in the warehouse"] == "3"
    assert all(shown[label] not in ("", "0") for label in ("Ledger", "Warehouse", "Free on the disk"))


@pytest.mark.parametrize("page", ["configure", "runs", "live"])
def test_pages_that_need_the_ledger_say_how_to_recover(open_page: OpenPage, ledger: Path, page: str) -> None:
    app = open_page(page)

    assert ledger.exists()
    assert app.main.error, page
    assert all("file is not a database" in error.value for error in app.main.error)
    assert "with its \\-wal and \\-shm files" in texts(app) or "with its -wal and -shm files" in texts(app)
    assert not app.exception
