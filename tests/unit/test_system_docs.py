"""docs/system.md says what the code does: every field, every finding, and what is not kept for others."""

import re
from collections.abc import Iterable, Iterator

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.config_file import MOST_BYTES
from aisbench_core.domain.results.record import FILE_KEYS
from aisbench_core.model import FIELDS
from aisbench_core.running.systems.descriptions import RULES
from aisbench_core.running.systems.systems import OF_EACH_RUN

DOCUMENT = HOME / "docs" / "system.md"
FIELDS_HEAD = "<!-- fields -->\n\n"
RULES_HEAD = "<!-- findings -->\n\n"


def document() -> str:
    """docs/system.md with both tables as the code would write them."""
    page = DOCUMENT.read_text("utf-8")
    for head, rows in ((FIELDS_HEAD, _fields()), (RULES_HEAD, _rules())):
        page = _with_rows(page, head, rows)
    return page


def _with_rows(page: str, head: str, rows: Iterable[str]) -> str:
    before, _, after = page.partition(head)
    return before + head + "".join(rows) + re.sub(r"\A([|*].*\n)*", "", after)


def _fields() -> Iterator[str]:
    for name, field in FIELDS.items():
        key = FILE_KEYS.get(name, name)
        is_said = key == name or f"`{key}` in the file" in str(field.description)
        in_file = "" if is_said else f" In the file: `{key}`."
        yield f"* `{name}`: {field.title}. {field.description}{in_file}\n"


def _rules() -> Iterator[str]:
    for rule, (level, expected) in RULES.items():
        yield f"* `{rule}`, {level}: {expected}\n"


def test_the_page_lists_every_field_and_every_finding() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_the_page_names_what_is_not_kept_for_others_and_the_limit() -> None:
    page = DOCUMENT.read_text("utf-8")

    assert [name for name in OF_EACH_RUN if f"`{name}`" not in page.split("## Fields")[0]] == []
    assert f"up to {MOST_BYTES // 1024} kB" in page
