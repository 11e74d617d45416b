"""A console over an empty data folder, driven page by page without a browser."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import streamlit as st
from altair.vegalite.v6.schema.core import TopLevelSpec
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.app_test import TMP_DIR

from pages._ui.configure.drafts import OWN
from pages._ui.shell.browser import SESSION
from pages._ui.shell.widgets import VERSION
from tests.console.grids import list_grids
from tests.console.seeds import fill

ENTRY = Path(__file__).parents[2] / "pages" / "_ui" / "entry.py"

OpenPage = Callable[..., AppTest]

BROWSER = "the browser of all tests"
BROWSER_KEY = sha256(BROWSER.encode()).hexdigest()[:32]
OWN_DRAFT = OWN + BROWSER_KEY
"""The key of the draft of this browser."""


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where this console keeps everything; it has a profile of a sandbox that is not running."""
    monkeypatch.setenv("AISBENCH_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AISBENCH_REQUEST_SECONDS", "2")
    write_profile(tmp_path)
    st.cache_resource.clear()
    st.cache_data.clear()
    yield tmp_path
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture(scope="session")
def years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a console leaves that has been used for a while; tests take copies."""
    folder = tmp_path_factory.mktemp("years")
    fill(folder)
    return folder


@pytest.fixture
def used(data_dir: Path, years: Path) -> Path:
    """The data folder of a console that has been used for a while."""
    return shutil.copytree(years, data_dir, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def components() -> BidiComponentManager:
    """What installed packages add to Streamlit: nothing, but each AppTest would look through all of them for it."""
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    return manager


@pytest.fixture
def open_page(data_dir: Path, components: BidiComponentManager) -> OpenPage:
    """Open a page by its name, with query parameters, from the entry."""
    assert data_dir.exists()

    def opened(page: str, /, **query: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(ENTRY), default_timeout=60)
        app._bidi_component_manager = components
        app.session_state[SESSION] = BROWSER
        app.switch_page(f"../{page}.py")
        for name, value in query.items():
            app.query_params[name] = value
        return charts_checked(app.run())

    return opened


def newest(widgets: Iterable[Any], key: str) -> Any:
    """The widget with this key: one that shows another value than the browser has is a new one, with a longer key."""
    return [each for each in widgets if each.key and each.key.partition(VERSION)[0] == key][-1]


def charts_checked(app: AppTest) -> AppTest:
    """The page, whose charts keep the schema of Vega-Lite, which they are not checked against while somebody waits."""
    for chart in app.get("vega_lite_chart"):
        TopLevelSpec.validate(json.loads(chart.proto.spec))
    return app


def texts(app: AppTest) -> str:
    """Everything that the page says."""
    return "\n".join([markdown_texts(app), *(grid.whole for grid in list_grids(app))])


def markdown_texts(app: AppTest) -> str:
    """What of it is Markdown: tables show their texts as they are."""
    kinds = (app.title, app.header, app.markdown, app.caption, app.info, app.warning, app.error, app.success)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def log_of(app: AppTest) -> str:
    """The HTML of all lines of logs on the page."""
    return "\n".join(html.proto.body for html in app.get("html") if "log-lines" in html.proto.body)


def drawn(app: AppTest, chart: int = 0) -> list[dict[str, Any]]:
    """Every row that one of the page's charts draws, by the names of columns."""
    tables = app.get("vega_lite_chart")[chart].proto.datasets
    return [row for table in tables for row in pa.ipc.open_stream(table.data.data).read_all().to_pylist()]


def write_profile(data_dir: Path) -> None:
    """A profile of a sandbox that is not running."""
    folder = data_dir / "sandbox"
    folder.mkdir()
    keys = folder / "credentials.yaml"
    keys.write_text("access_key: AKIDEXAMPLEAKIDEX\nsecret_key: not-a-real-secret\n", "utf-8")
    keys.chmod(0o600)
    (folder / "profile.yaml").write_text(
        "region: sandbox\nproject_id: sandbox-project\nobs_server: http://127.0.0.1:9\n"
        "modelarts_endpoint: http://127.0.0.1:9\nbucket: sandbox-bench\nrehearsal: true\n"
        f"flavor: sandbox.cpu.2cards\ncredentials_file: {keys}\nprice_per_node_hour: {{sandbox.cpu.2cards: 12.5}}\n",
        "utf-8",
    )


@pytest.fixture
def paid(data_dir: Path) -> str:
    """The profile of a region that is none of rehearsals, and has a price."""
    text = (data_dir / "sandbox" / "profile.yaml").read_text("utf-8").replace("rehearsal: true\n", "")
    (data_dir / "profiles").mkdir()
    (data_dir / "profiles" / "paid.yaml").write_text(text, "utf-8")
    return "paid"


def pytest_unconfigure() -> None:
    """AppTest leaves its own temporary directory to the end of the process, which warns about it."""
    TMP_DIR.cleanup()
