"""An old configuration in a real browser: read, looked at, kept as far as the person agrees, and taken out again."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.exchange.upstream.configs.reading import read_document
from aisbench_core.store.ledger.ledger import Ledger
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import PEOPLE, assert_looks_right, in_turns
from tests.browser.visit import OpenWindow, Visit
from tests.unit.upstream_files import ACCESS_KEY, LOCAL, SECRET_KEY, config, line_of, session
from tests.upstream_package import NAME, OTHER, files, job, write_archive


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console on its first day, of somebody who comes over."""
    process = PreparedConsole.start(tmp_path_factory.mktemp("over"))
    yield process
    process.stop()


def old_configuration(folder: Path) -> Path:
    """A file as people have it: in GBK, with a value that only code could tell."""
    file = folder / "modelarts_config.py"
    file.write_text(config(LOCAL, session("session_config_v2", job_description_prefix="PREFIX")), "gbk")
    return file


def choose(visit: Visit, file: Path, then: str = "import-use") -> None:
    """Choose a file in the import dialog, and wait for the button that takes it over."""
    visit.open_drafts()
    visit.keyed("import").get_by_role("button").click()
    visit.page.locator("input[type=file]").set_input_files(file)
    expect(visit.keyed(then).get_by_role("button")).to_be_visible()
    visit.rest()


def own(console: ConsoleProcess) -> list[str]:
    """What lies in the folder of the user's own workloads."""
    folder = console.data_dir / "workloads"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def test_somebody_comes_over_with_an_old_configuration(
    alone: ConsoleProcess, window: OpenWindow, tmp_path: Path
) -> None:
    file = old_configuration(tmp_path)
    visit = window(alone)
    visit.open("/configure")

    choose(visit, file)
    line = line_of(file.read_text("gbk"), "'job_description_prefix'")
    expect(visit.page.get_by_role("dialog")).to_contain_text(f"line {line} · session_config_v2.job_description_prefix")
    visit.keyed("import-keys").get_by_text("Also write the keys").click()
    visit.rest()
    visit.keyed("import-save").get_by_role("button").click()
    expect(visit.page.get_by_text("and its keys are saved")).to_be_visible()
    visit.keyed("import-use").get_by_role("button").click()

    expect(visit.page).to_have_url(re.compile(r"draft=import-[\w-]+&profile=cn-north-4"))
    expect(visit.page.get_by_role("dialog")).to_have_count(0)  # it has a field of the same name
    visit.rest()
    expect(visit.page.get_by_label("Workload")).to_have_value(re.compile("mindspore_bert"))
    assert SECRET_KEY in (alone.data_dir / "credentials.yaml").read_text("utf-8")
    for text in (visit.page.content(), visit.page.url, alone.said):
        assert SECRET_KEY not in text
        assert ACCESS_KEY not in text
    take_out(visit, Ledger(alone.data_dir / "ledger.sqlite3"))
    assert visit.troubles() == []


def take_out(visit: Visit, ledger: Ledger) -> None:
    """Download the draft as the file that it came from, as it is when the button is pressed."""
    visit.open_drafts()
    button = visit.keyed("export").get_by_role("button")
    visit.rest()
    (key,) = parse_qs(urlsplit(visit.page.url).query)["draft"]
    text = ledger.draft(key)
    assert text is not None
    ledger.save_draft(key, text.replace("aisbench-debug", "changed-since"), datetime.now(UTC))
    download = visit.download(button)
    written = read_document([ConfigFile("modelarts_config.py", download.path().read_bytes())])
    assert download.suggested_filename == "modelarts_config.py"
    assert written.dicts["session_config_v2"].entries["job_name"].value == "changed-since"
    assert written.findings == ()


def test_a_pasted_configuration_does_not_stay_in_the_field(alone: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(alone)
    visit.open("/configure")
    visit.open_drafts()
    visit.keyed("import").get_by_role("button").click()

    field = visit.page.get_by_role("textbox", name="Or paste the file here")
    field.fill(f"access_config = {{'secret_access_key': '{SECRET_KEY}'")
    field.press("Control+Enter")

    expect(visit.page.get_by_text("was never closed")).to_be_visible()
    expect(visit.page.get_by_role("textbox", name="Or paste the file here")).to_have_value("")
    assert SECRET_KEY not in visit.page.content()


@pytest.mark.parametrize(("name", "person"), in_turns(["import"]))
def test_the_dialog_looks_right(
    alone: ConsoleProcess, window: OpenWindow, tmp_path: Path, name: str, person: str
) -> None:
    visit = window(alone, **PEOPLE[person])
    visit.open("/configure?draft=looks")

    choose(visit, old_configuration(tmp_path))

    assert_looks_right(visit, f"{name}-{person}")


def test_somebody_comes_over_with_a_package(alone: ConsoleProcess, window: OpenWindow, tmp_path: Path) -> None:
    text = config(LOCAL, job(out_base_url="'/zgwtest/out/'", inputs="'/zgwtest/imagenet/'"))
    archive = write_archive(tmp_path, NAME, files(text))
    visit = window(alone)
    visit.open("/configure")

    choose(visit, archive, "import-make")
    facts = {row["Setting"]: row["Value"] for row in visit.rows("Package")}
    assert (facts["Company"], facts["Architecture"], facts["Framework version"]) == ("huawei", "aarch64", "r1.8")
    visit.keyed("import-make").get_by_role("button").click()

    expect(visit.page).to_have_url(re.compile(r"draft=import-\w+"))
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    visit.rest()
    expect(visit.page.get_by_label("Workload")).to_have_value(re.compile("train_mindspore_resnet_r1_8"))
    assert own(alone) == ["train_mindspore_resnet_r1_8"]
    for said in (visit.page.content(), visit.page.url, alone.said):
        assert SECRET_KEY not in said
    assert visit.troubles() == []


def test_a_package_that_nobody_takes_over_leaves_nothing(
    alone: ConsoleProcess, window: OpenWindow, tmp_path: Path
) -> None:
    visit = window(alone)
    visit.open("/configure")
    before = {*own(alone)}  # what another test left may still go
    choose(visit, write_archive(tmp_path, OTHER), "import-make")
    assert len({*own(alone)} - before) == 1

    visit.page.keyboard.press("Escape")
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    for _ in range(600):
        if {*own(alone)} <= before:
            break
        visit.page.wait_for_timeout(100)

    assert {*own(alone)} <= before
    assert visit.troubles() == []


@pytest.mark.parametrize(("name", "person"), in_turns(["import-package"], 1))
def test_the_dialog_for_packages_looks_right(
    alone: ConsoleProcess, window: OpenWindow, tmp_path: Path, name: str, person: str
) -> None:
    visit = window(alone, **PEOPLE[person])
    visit.open("/configure?draft=looks")

    choose(visit, write_archive(tmp_path, OTHER), "import-make")

    assert_looks_right(visit, f"{name}-{person}")
