"""modelarts_manual.yaml says of every heading of ModelArts' guide where it is here, and whatever it names does exist.

docs/modelarts.md lists what differs."""

import re
from collections.abc import Mapping

import click
import pytest
from pydantic import BaseModel

from aisbench_core.config.settings import HOME, Profile, Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight import offline, online
from aisbench_core.interfaces.cli import main
from aisbench_core.model import RunSpec
from pages._ui.shell import navigation
from pages._ui.shell.words import Language, load_catalogue
from tests.unit.coverage_tables import Coverage, Row
from tests.unit.modelarts_guide import HEADINGS
from tests.unit.test_docs import is_there

DOCUMENT = HOME / "docs" / "modelarts.md"
FILE = "tests/unit/modelarts_manual.yaml"
PRESENT = {"yes", "in part", "differently"}
ABSENT = {"not yet", "no"}
MODELS: Mapping[str, type[BaseModel]] = {"spec": RunSpec, "profile": Profile, "settings": Settings}
PUBLIC = "https://support.huaweicloud.com/"


GUIDE = Coverage("The ModelArts training guide", "modelarts_manual.yaml")


def document() -> str:
    """docs/modelarts.md with its table as modelarts_manual.yaml has it."""
    return GUIDE.page_with_exceptions(DOCUMENT)


def code() -> set[str]:
    """What the page and the tables name between backticks."""
    return set(re.findall(r"`([^`\n]+)`", DOCUMENT.read_text("utf-8") + GUIDE.whole())) - {FILE}


def test_the_page_lists_what_differs() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", GUIDE.whole())

    assert [each for each in links if not is_there(DOCUMENT, each)] == []


def test_every_heading_of_the_guide_has_a_row_in_its_order() -> None:
    found = [(row.named.split()[0], row.named) for row in GUIDE.rows()]

    assert [number for number, _ in found] == [number for number, _ in HEADINGS]
    for (_, heading), (_, title) in zip(found, HEADINGS, strict=True):
        assert heading.endswith(f"({title})")


@pytest.mark.parametrize("row", GUIDE.rows(), ids=lambda row: row.named.split()[0])
def test_a_row_says_where_it_is_or_why_not(row: Row) -> None:
    assert row.said in PRESENT | ABSENT
    assert row.where
    if row.said in ABSENT:
        assert len(row.where.split()) >= 3


@pytest.mark.parametrize("text", sorted(text for text in code() if text.startswith("aisbench ")))
def test_a_command_exists_with_its_options(text: str) -> None:
    command: click.Command = main
    for word in text.split()[1:]:
        if word.startswith("-"):
            assert any(word in parameter.opts for parameter in command.params), f"{text}: {word}"
        else:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found, f"{text}: {word}"
            command = found


@pytest.mark.parametrize("text", sorted(text for text in code() if text.split(".")[0] in MODELS and "." in text))
def test_a_key_exists(text: str) -> None:
    head, *path = text.split(".")
    fields = MODELS[head].model_fields

    assert path[0] == "x" or (len(path) == 1 and path[0] in fields)


def test_a_rule_of_preflight_exists() -> None:
    rules = {rule.rule_id for rule in offline.RULES} | {rule.rule_id for rule in online.RULES}
    named = {text for text in code() if re.fullmatch(r"[a-z]+\.[a-z-]+", text) and text.split(".")[0] not in MODELS}

    assert named <= rules


def test_a_workload_exists() -> None:
    known = {workload.name for workload in Workloads(HOME / "workloads").all()}

    assert {text for text in code() if re.fullmatch(r"[a-z]+(_[a-z]+)+", text)} <= known


def test_a_page_is_in_the_menu() -> None:
    menu = {load_catalogue(Language.EN)[f"menu.{page.stem}"] for page in navigation.ICONS}
    where = " ".join(row.where for row in GUIDE.rows()) + DOCUMENT.read_text("utf-8").rpartition("## ")[2]

    assert set(re.findall(r"\*\*([^*]+)\*\*", where)) <= menu


def test_links_to_other_hosts_lead_to_the_clouds_public_manual() -> None:
    targets = re.findall(r"\]\((https?:[^)\s]+)\)", DOCUMENT.read_text("utf-8"))

    assert targets
    assert [target for target in targets if not target.startswith(PUBLIC)] == []
