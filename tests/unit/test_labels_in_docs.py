"""What the documents call a button, a page or a heading is what stands on the screen."""

import re
from collections.abc import Iterator

import pytest
import yaml

from aisbench_core.config.settings import HOME

TEXTS = HOME / "pages" / "_ui" / "texts" / "en.yaml"
EMPHASIZED = {"sandbox", "rehearsals", "why"}  # words in italics that name nothing on a page
ITALICS = re.compile(r"(?<![*\w`])\*([^*\n`]+)\*(?!\*)")
PLACEHOLDER = re.compile(r"\\\{\w+\\\}")


def texts(node: object) -> Iterator[str]:
    """Every text of the pages."""
    if isinstance(node, dict):
        for value in node.values():
            yield from texts(value)
    else:
        yield str(node)


def is_on_screen(label: str, shown: list[str]) -> bool:
    """Whether a text begins with the label; with values in the place of placeholders, it is the whole text."""
    return any(
        text.lower().startswith(label.lower()) or re.fullmatch(PLACEHOLDER.sub(".+", re.escape(text)), label, re.I)
        for text in shown
    )


@pytest.mark.parametrize("page", ["README.md", "docs/console.md", "docs/notifications.md", "docs/budgets.md"])
def test_labels_in_italics_are_those_of_the_screen(page: str) -> None:
    shown = [*texts(yaml.safe_load(TEXTS.read_text("utf-8")))]
    labels = set(ITALICS.findall((HOME / page).read_text("utf-8"))) - EMPHASIZED

    assert labels
    assert [label for label in sorted(labels) if not is_on_screen(label, shown)] == []
