"""The documents say what the code says: settings, profile keys, links, paths and make targets."""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from aisbench_core.config.identity import ISSUER
from aisbench_core.config.settings import HOME, Profile, Settings, load_settings
from aisbench_core.interfaces.cli.entry import COMMANDS
from tests.source_tree import path_of

SETTINGS = HOME / "docs" / "settings.md"
ARCHITECTURE = HOME / "ARCHITECTURE.md"
PAGES = [
    HOME / "README.md",
    ARCHITECTURE,
    HOME / "CONTRIBUTING.md",
    HOME / "SECURITY.md",
    *sorted((HOME / "docs").glob("*.md")),
]

SETTINGS_HEAD = "<!-- settings -->\n\n"
PROFILE_HEAD = "<!-- profile -->\n\n"

WORDS = {
    "^(en|zh)$": "`en` or `zh`",
    r"^(https?://[^/\s]+/?)?$": "`https://name`, with the port if not the default",
    r"^(https?://\S+)?$": "an http or https address",
    "^[A-Za-z][A-Za-z0-9-]{0,63}$": "the name of a header",
    ISSUER: "an `https` address; `http` on this machine only",
    "(^| )openid( |$)": "scopes with spaces between them, `openid` among them",
    "^[a-z0-9][a-z0-9_-]{0,39}$": "up to 40 of `a-z`, `0-9`, `-`, `_`",
    "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$": "3 to 63 of `a-z`, `0-9`, `-`, `.`",
}
"""Patterns, for people."""

PATH = re.compile(r"(aisbench_core|pages|tests|docs|workloads|\.ci|\.streamlit)/[\w./*-]*")
EXAMPLES = ("workloads/my_", ".streamlit/secrets.toml")
"""What documents name although a fresh clone does not hold it: you make it."""

OTHER_VARIABLES = {
    *("AISBENCH_SETTINGS", "AISBENCH_DEBUG", "AISBENCH_RUN_ID", "AISBENCH_MODELARTS_WHEEL"),
    *("AISBENCH_SERVER", "AISBENCH_TOKEN", "AISBENCH_UNENCRYPTED"),
} | {
    f"AISBENCH_{key}"
    for key in (
        "AK",
        "SK",
        "SECURITY_TOKEN",
        "LEDGER_PASSWORD",
        "WAREHOUSE_PASSWORD",
        "OIDC_CLIENT_SECRET",
        "NOTIFY",
        "SECRET_HF_TOKEN",
        "SECRET",
    )
}


# --- docs/settings.md ---------------------------------------------------------------------------------


def _id(page: Path) -> str:
    return path_of(page)


def document() -> str:
    """docs/settings.md with both lists as the code would write them."""
    page = SETTINGS.read_text("utf-8")
    page = _with_rows(page, SETTINGS_HEAD, _field_rows(Settings.model_fields))
    return _with_rows(page, PROFILE_HEAD, _field_rows(Profile.model_fields))


def _with_rows(page: str, head: str, rows: Iterable[str]) -> str:
    before, _, after = page.partition(head)
    return before + head + "".join(f"{row}\n" for row in rows) + re.sub(r"\A(\*.*\n)*", "", after)


def _field_rows(fields: Mapping[str, FieldInfo]) -> Iterator[str]:
    for name, field in fields.items():
        facts = "; ".join(filter(None, (_default(field), _allowed(field))))
        yield f"* `{name}`{f' ({facts})' if facts else ''}: {_meaning(field)}"


def _meaning(field: FieldInfo) -> str:
    return (field.description or "").replace("<", "&lt;")


def _default(field: FieldInfo) -> str:
    if field.default_factory is None and field.default is PydanticUndefined:
        return "required"
    shown = field.get_default(call_default_factory=True, validated_data={})
    if shown in ("", {}):
        return ""
    if str(shown).startswith(str(HOME)):
        return f"`{shown.relative_to(HOME)}`"
    return f"`{shown}`".lower() if isinstance(shown, bool) else f"`{shown}`"


def _allowed(field: FieldInfo) -> str:
    kind: Any = field.annotation
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return ", ".join(f"`{each}`" for each in kind)
    if kind in (bool, str, Path) and not field.metadata:
        return ""
    limits = {
        name: getattr(rule, name) for rule in field.metadata for name in ("gt", "ge", "le") if hasattr(rule, name)
    }
    patterns = [rule.pattern for rule in field.metadata if getattr(rule, "pattern", None)]
    if patterns:
        return WORDS[patterns[0]]
    return _range(limits) or {"str": "", "Path": "", "dict": "flavor: number ≥ 0"}[kind.__name__]


def _range(limits: Mapping[str, float]) -> str:
    """`gt`, `ge` and `le` in words; no setting has a greatest value without a least one."""
    most = f"{limits['le']:g}" if "le" in limits else ""
    if "ge" in limits:
        return f"{limits['ge']:g} to {most}" if most else f"{limits['ge']:g} or more"
    return f"above {limits['gt']:g}" + (f", up to {most}" if most else "") if "gt" in limits else ""


def test_the_page_lists_every_setting_and_every_key_of_a_profile() -> None:
    assert SETTINGS.read_text("utf-8") == document(), "to write it anew: make docs"


@pytest.mark.parametrize("model", [Settings, Profile])
def test_every_field_says_what_it_means(model: type[Settings | Profile]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []


def test_a_relative_folder_starts_at_the_consoles_folder_wherever_a_command_is_typed() -> None:
    assert load_settings({"AISBENCH_DATA_DIR": "there/too"}).data_dir == HOME / "there" / "too"
    assert load_settings({"AISBENCH_DATA_DIR": "~/bench"}).data_dir == Path.home() / "bench"


# --- what every document names ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_link_and_picture_leads_somewhere(page: Path) -> None:
    text = _without_blocks(page.read_text("utf-8"))
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", target)]

    assert [target for target in targets if not is_there(page, target)] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_path_that_a_document_namesis_there(page: Path) -> None:
    named = {each for each in _code(page) if PATH.fullmatch(each) and not each.startswith(EXAMPLES)}

    assert {each for each in named if not any(HOME.glob(each.rstrip("/")))} == set()


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_make_target_that_a_document_namesis_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (HOME / "Makefile").read_text("utf-8"), re.M))
    named = {name for text in _code(page) for name in re.findall(r"(?:^|[;&(\s])make ([a-z][a-z-]*)", text)}

    assert named - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_command_that_a_document_namesis_there(page: Path) -> None:
    named = {name for text in _code(page) for name in re.findall(r"(?:^|[\s/$(])aisbench ([a-z]+(?:-[a-z]+)*)", text)}

    assert named - COMMANDS.keys() == set()


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_variable_that_a_document_names_is_known(page: Path) -> None:
    known = {f"AISBENCH_{name.upper()}" for name in Settings.model_fields} | OTHER_VARIABLES

    assert set(re.findall(r"AISBENCH_[A-Z_]+[A-Z]", page.read_text("utf-8"))) - known == set()


def is_there(page: Path, target: str) -> bool:
    """Whether a link of a page leads to a file, and to a heading of it."""
    name, _, anchor = target.partition("#")
    place = page.parent / name if name else page
    if not place.exists() or HOME not in place.resolve().parents:
        return False
    return not anchor or anchor in _anchors(place)


def _anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", _without_blocks(page.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def _code(page: Path) -> list[str]:
    """What a page shows as code: the lines of its blocks, and what stands between backticks."""
    text = page.read_text("utf-8")
    blocks = [line for block in re.findall(r"^```.*?^```", text, re.M | re.S) for line in block.splitlines()[1:-1]]
    return [*blocks, *re.findall(r"`([^`\n]+)`", _without_blocks(text))]


def _without_blocks(text: str) -> str:
    return re.sub(r"^[ ]*```.*?^[ ]*```", "", text, flags=re.M | re.S)
