"""docs/upstream.md says what the code does: every key, and every finding."""

import re
from collections.abc import Iterator

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.config_file import MOST_BYTES
from aisbench_core.exchange.upstream.configs.contents import RULES
from aisbench_core.exchange.upstream.configs.keys import DICTS, PRE_START_KEYS, SHELL_KEYS, keys_of
from aisbench_core.exchange.upstream.configs.literals import MOST_LEVELS

DOCUMENT = HOME / "docs" / "upstream.md"
KEYS_HEAD = "<!-- keys -->\n\n"
JOBS = ["`session_config`", "`session_config_v2`"]
"""Both dicts of a job: keys are theirs unless others are named."""
RULES_HEAD = "<!-- findings -->\n\n"


def document() -> str:
    """docs/upstream.md with both tables as the code would write them."""
    page = DOCUMENT.read_text("utf-8")
    for head, rows in ((KEYS_HEAD, _keys()), (RULES_HEAD, _rules())):
        before, _, after = page.partition(head)
        page = before + head + "".join(rows) + re.sub(r"\A(\*.*\n)*", "", after)
    return page


def _keys() -> Iterator[str]:
    tables = [
        *((name, keys_of(name)) for name in DICTS),
        ("config.sh", SHELL_KEYS),
        ("ma-pre-start.sh", PRE_START_KEYS),
    ]
    named: dict[tuple[str, str], list[str]] = {}
    for name, keys in tables:
        for key in keys:
            named.setdefault((key.name, key.becomes), []).append(f"`{name}`")
    for (key_name, becomes), names in named.items():
        where = "" if names == JOBS else f" of {', '.join(names)}"
        yield f"* `{key_name}`{where}: {becomes}\n"


def _rules() -> Iterator[str]:
    for rule, (level, expected) in RULES.items():
        yield f"* `{rule}`, {level}: {expected}\n"


def test_the_page_lists_every_key_and_every_finding() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_the_page_names_the_limits() -> None:
    page = DOCUMENT.read_text("utf-8")

    assert f"larger than {MOST_BYTES // 1024} kB" in page
    assert f"more than {MOST_LEVELS} levels" in page
