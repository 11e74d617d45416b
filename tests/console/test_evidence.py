"""Evidence on pages: buttons that write a signed bundle, and the field that imports another console's."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import Role
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import open_core
from tests import records as a
from tests.actors import TESTER
from tests.bundles import EvidenceConsole, make_key
from tests.console.conftest import OpenPage, texts
from tests.console.test_signed_in import as_person
from tests.series_bench import SeriesBench

THEIRS = make_key()
FILE = ("theirs.zip", "application/zip")


@pytest.fixture
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two runs of another console, signed by it."""
    theirs = EvidenceConsole(tmp_path_factory.mktemp("theirs"), THEIRS, print_page=str.encode)
    theirs.record(a.records([8000.0, 8100.0]))
    return theirs.make("run-0", "run-1")


def evidence_buttons(app: AppTest) -> list[bool]:
    """Those that write evidence, each with whether it can be pressed."""
    assert not app.exception
    return [not each.proto.disabled for each in app.get("download_button") if each.proto.label == "Evidence (.zip)"]


def upload_bundle(app: AppTest, content: bytes) -> AppTest:
    name, kind = FILE
    app.file_uploader(key="bundle-file").set_value((name, content, kind))
    return app.run()


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize(
    ("page", "address", "is_enabled"),
    [
        ("live", {"run": "run-n1-0"}, True),
        ("configuration", {"run": "run-n1-0"}, True),
        ("compare", {"ids": ["run-n1-0", "run-n2-0"]}, True),
        ("leaderboard", {"region": "cn-north-9"}, True),
        ("leaderboard", {"region": "cn-north-9", "q": "no run is called so"}, False),
    ],
)
def test_what_is_on_screen_has_a_button_for_its_evidence(
    page: str, address: dict[str, str | list[str]], is_enabled: bool, open_page: OpenPage
) -> None:
    assert evidence_buttons(open_page(page, **address)) == [is_enabled]


def test_a_series_has_a_button_for_its_evidence(open_page: OpenPage, data_dir: Path) -> None:
    bench = SeriesBench.on(data_dir)
    series = bench.launch(repeats=1)
    bench.end_all(series)

    assert evidence_buttons(open_page("series", series=series.series_id)) == [True]


@pytest.mark.parametrize(("role", "count", "fields"), [(Role.VIEWER, 0, 0), (Role.ENGINEER, 1, 0), (Role.LEAD, 1, 1)])
def test_only_those_who_may_sign_or_import_see_the_button_and_the_field(
    role: Role, count: int, fields: int, used: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert used.exists()
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    monkeypatch.setenv("AISBENCH_TRUSTED_PROXIES", "127.0.0.1")
    open_core().people.set_role("ann", role, TESTER)

    run = as_person(open_page("live", run="run-n1-0"), "ann")
    importing = as_person(open_page("import"), "ann")

    assert len(evidence_buttons(run)) == count
    assert sum(each.key == "bundle-file" for each in importing.file_uploader) == fields


@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_bundle_is_imported_once_and_says_who_signed_it(
    is_trusted: bool, bundle: bytes, open_page: OpenPage, data_dir: Path
) -> None:
    if is_trusted:
        open_core().signing_keys.trust(str(THEIRS.public), "their lab", TESTER)

    seen = upload_bundle(open_page("import"), bundle)
    assert ("Signed by their lab" in texts(seen)) is is_trusted
    assert (f"Nobody here trusts the key {THEIRS.public.fingerprint}" in texts(seen)) is not is_trusted
    assert "New runs: 2 · already here: 0 · rehearsals left out: 0" in texts(seen)
    saved = seen.button(key="bundle-save").click().run()

    assert "Runs imported: 2" in texts(saved)
    assert sorted(Warehouse(data_dir / "warehouse.duckdb").runs.find_rows(["run-0", "run-1"])) == ["run-0", "run-1"]
    again = upload_bundle(open_page("import"), bundle)
    assert "New runs: 0 · already here: 2" in texts(again)
    assert again.button(key="bundle-save").disabled


def test_a_changed_bundle_is_refused_with_what_to_do(bundle: bytes, open_page: OpenPage, data_dir: Path) -> None:
    page = upload_bundle(open_page("import"), bundle.replace(b"step 1", b"step 7"))

    assert "theirs.zip is not as it was signed" in texts(page)
    assert "ask for the file again" in texts(page)
    assert not [each for each in page.button if each.key == "bundle-save"]
    assert not (data_dir / "runs").exists()
