"""`aisbench lab-report`: a report is issued, shown, amended and withdrawn in the shell, and verified without us."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.cli import main
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import named

DOCUMENT = Path(__file__).parents[2] / "docs" / "lab-report.md"
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL))


@pytest.fixture
def core(tmp_path: Path) -> Core:
    core = open_core(Settings(data_dir=tmp_path / "data"))
    core.warehouse.record_many(a.records([8000.0, 8100.0, 8050.0], "again"))
    return core


def type_words(core: Core, *words: str) -> Result:
    return CliRunner(env={"AISBENCH_DATA_DIR": str(core.settings.data_dir)}).invoke(main, words)


def test_the_documents_example_is_issued_authorised_by_another_and_verified_by_its_script(
    core: Core, tmp_path: Path
) -> None:
    details = tmp_path / "report.yaml"
    details.write_text(BLOCKS["yaml"], "utf-8")

    draft = type_words(core, "report", "again-0", "--details", str(details), "--lang", "en")
    issued = type_words(core, "lab-report", "issue", "again-0", "again-1", "again-2", "--details", str(details))
    refused = type_words(core, "lab-report", "authorise", "1")
    core.lab_reports.authorise(1, named("leo"))

    assert "DRAFT – NOT ISSUED" in draft.stdout
    assert (issued.exit_code, issued.stdout) == (0, "1\n")
    assert refused.exit_code != 0
    assert "prepared report 1" in refused.stderr
    for name, words in {
        "authorisation.json": ("lab-report", "show", "1", "--part", "authorisation"),
        "content.json": ("lab-report", "show", "1", "--part", "content"),
        "key.pub": ("evidence", "keys", "--public"),
    }.items():
        (tmp_path / name).write_text(type_words(core, *words).stdout, "utf-8")
    script = [sys.executable, "-c", BLOCKS["python"], *("authorisation.json", "content.json", "key.pub")]
    verified = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "'authorised_by': 'leo'" in verified.stdout
    (tmp_path / "content.json").write_text("{}", "utf-8")
    assert subprocess.run(script, cwd=tmp_path, capture_output=True, check=False).returncode != 0


def test_amendments_and_withdrawals_are_listed_and_shown(core: Core, tmp_path: Path) -> None:
    details = tmp_path / "report.yaml"
    details.write_text(yaml.safe_dump({"laboratory_name": "Lab 3", "laboratory_address": "here"}), "utf-8")
    type_words(core, "lab-report", "issue", "--region", "cn-north-9", "--details", str(details))

    amended = type_words(core, "lab-report", "amend", "1", "--reason", "a wrong address")
    type_words(core, "lab-report", "withdraw", "2", "--reason", "node 3 was slow")

    assert amended.stdout == "2\n"
    listed = json.loads(type_words(core, "lab-report", "list", "--json").stdout)
    assert [(each["number"], each["amends"], each["amended_by"], each["withdrawal"]) for each in listed] == [
        (2, 1, None, "node 3 was slow"),
        (1, None, 2, ""),
    ]
    page = tmp_path / "second.html"
    type_words(core, "lab-report", "show", "2", "--lang", "zh", "-o", str(page))
    assert "已撤回" in page.read_text("utf-8")


def test_a_wrong_field_and_an_unknown_number_are_named(core: Core, tmp_path: Path) -> None:
    details = tmp_path / "report.yaml"
    details.write_text("laboratory_name: Lab 3\nitem_ids: x\n", "utf-8")

    wrong = type_words(core, "lab-report", "issue", "again-0", "--details", str(details))
    unknown = type_words(core, "lab-report", "show", "7")

    assert (wrong.exit_code, unknown.exit_code) == (2, 2)
    assert "laboratory_address: field required" in wrong.stderr
    assert "item_ids" in wrong.stderr
    assert "there is no report 7" in unknown.stderr
