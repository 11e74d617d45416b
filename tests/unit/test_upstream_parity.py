"""upstream_manuals.yaml says of everything in upstream's manuals where it is here, and whatever it names does exist.

docs/upstream.md lists what differs."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields as fields_of
from typing import get_args

import click
import pytest
from pydantic import BaseModel

from aisbench_core.config.settings import HOME, Profile, Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight import offline, online
from aisbench_core.exchange.upstream.configs import contents
from aisbench_core.exchange.upstream.configs.keys import DICTS, SHELL_KEYS, keys_of
from aisbench_core.interfaces.cli import main
from aisbench_core.maintenance.doctor.diagnosis import CHECKS
from aisbench_core.model import FIELDS, RunSpec, TrainResultInfo
from aisbench_core.running.systems import descriptions
from aisbench_core.warehouse.tables.schema import RESULTS
from pages._ui.shell import navigation
from pages._ui.shell.words import Language, load_catalogue
from tests.unit.coverage_tables import Coverage, Row
from tests.unit.test_docs import is_there
from tests.unit.upstream_manual import NAMED, PARAMETERS

DOCUMENT = HOME / "docs" / "upstream.md"
SAID = {"yes", "differently", "not needed", "not supported", "planned"}
SHORT = 6
"""Names up to so many letters are often part of others, and must stand alone."""

FILE = re.compile(r".*\.(json|sh|py|md|whl|gz)")

RULES = (
    {rule.rule_id for rule in offline.RULES}
    | {rule.rule_id for rule in online.RULES}
    | contents.RULES.keys()
    | descriptions.RULES.keys()
    | set(CHECKS)
)
MODELS: Mapping[str, type[BaseModel]] = {"spec": RunSpec, "profile": Profile, "settings": Settings}
NAMES: Mapping[str, Iterable[str]] = {"system": FIELDS, "results": RESULTS}


MANUALS = Coverage("Everything in the two manuals of ais-bench-stubs", "upstream_manuals.yaml")


def document() -> str:
    """docs/upstream.md with its table of what differs as upstream_manuals.yaml has it."""
    return MANUALS.page_with_exceptions(DOCUMENT)


def code_of(row: Row) -> list[str]:
    """What stands between backticks in the last column."""
    return re.findall(r"`([^`]+)`", row.where)


def leads_somewhere(row: Row) -> bool:
    """Whether a row names something that can be looked up, or refers to the row before."""
    pages, links = re.findall(r"\*\*[^*]+\*\*", row.where), re.findall(r"\]\(", row.where)
    return bool(pages or links or row.where.startswith("the same") or any(map(_kind, code_of(row))))


def _kind(text: str) -> str:
    """What a name between backticks names; empty for words that are no name of ours."""
    if text.startswith("aisbench "):
        return "command"
    if text.startswith("data/"):
        return "place"
    head, dot, _ = text.partition(".")
    if FILE.fullmatch(text) or not dot:
        return ""
    if head in MODELS or head in NAMES or head == "parameters":
        return "field"
    return "rule" if re.fullmatch(r"[a-z-]+\.[a-z-]+", text) else ""


def test_the_page_lists_what_differs() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", MANUALS.whole())

    assert [each for each in links if not is_there(DOCUMENT, each)] == []


@pytest.mark.parametrize("row", MANUALS.rows(), ids=lambda row: row.named[:60])
def test_a_row_says_where_it_is_or_why_not(row: Row) -> None:
    assert row.said in SAID
    if row.said in ("yes", "differently"):
        assert leads_somewhere(row)
    else:
        assert len(row.where.split()) >= 3


def names(kind: str) -> list[str]:
    """Everything of a kind that the tables name."""
    return sorted({text for row in MANUALS.rows() for text in code_of(row) if _kind(text) == kind})


@pytest.mark.parametrize("text", names("command"))
def test_a_command_exists_with_its_options(text: str) -> None:
    command: click.Command = main
    _, *words = text.split()
    for word in words:
        if word.startswith("--"):
            assert any(word in parameter.opts for parameter in command.params), f"{text}: {word}"
        else:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found, f"{text}: {word}"
            command = found


@pytest.mark.parametrize("text", names("field"))
def test_a_field_exists(text: str) -> None:
    head, _, rest = text.partition(".")
    if head in NAMES:
        assert rest in NAMES[head]
    elif head == "parameters":
        assert text in RULES or rest in known_parameters()
    else:
        assert _has(MODELS[head], rest.split("."))


@pytest.mark.parametrize("text", names("rule"))
def test_a_rule_exists(text: str) -> None:
    assert text in RULES


@pytest.mark.parametrize("text", names("place"))
def test_a_place_in_the_data_folder_is_documented(text: str) -> None:
    documents = "".join(
        (HOME / page).read_text("utf-8") for page in ("docs/running.md", "data/README.md", "docs/system.md")
    )
    name = text.removeprefix("data/runs/<run_id>/")

    assert f"`{name}" in documents or text == "data/"


def test_a_page_is_in_the_menu() -> None:
    menu = {load_catalogue(Language.EN)[f"menu.{page.stem}"] for page in navigation.ICONS}
    named = {page for row in MANUALS.rows() for page in re.findall(r"\*\*([^*]+)\*\*", row.where)}

    assert named - menu == set()


@pytest.mark.parametrize("name", NAMED)
def test_everything_that_the_manuals_name_has_a_row(name: str) -> None:
    named = [text for row in MANUALS.rows() for text in re.findall(r"`([^`]+)`", row.named)]

    assert any(name == text or (len(name) > SHORT and name in text) for text in named)


def test_every_key_of_a_configuration_is_on_the_page() -> None:
    page = DOCUMENT.read_text("utf-8")
    keys = {key.name for each in DICTS for key in keys_of(each)} | {key.name for key in SHELL_KEYS}

    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_every_key_of_train_result_info_has_its_place() -> None:
    assert {f"results.{field.name}" for field in fields_of(TrainResultInfo)} <= set(names("field"))


def test_every_parameter_of_the_manuals_is_in_a_manifest() -> None:
    assert set(PARAMETERS) - known_parameters() == set()


def known_parameters() -> set[str]:
    """The parameters of the shipped manifests."""
    known = Workloads(HOME / "workloads").all()
    return {name for each in known for version in each.versions for name in each.edition(version).parameters}


def _has(model: type[BaseModel], path: list[str]) -> bool:
    field = model.model_fields.get(path[0])
    if field is None:
        return False
    inner = [each for each in (field.annotation, *get_args(field.annotation)) if isinstance(each, type)]
    return len(path) == 1 or any(issubclass(each, BaseModel) and _has(each, path[1:]) for each in inner)
