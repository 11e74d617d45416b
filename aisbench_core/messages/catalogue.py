"""The Chinese of every sentence and label: `zh.po`, as gettext's tools read and write it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from aisbench_core.messages.message import Message

CATALOGUE = Path(__file__).parent / "zh.po"


def in_chinese(text: str) -> str:
    """A Message in Chinese; every other text, and a Message without a Chinese template, as it is."""
    return text.translated(_template) if isinstance(text, Message) else text


def label_in_chinese(context: str, english: str) -> str:
    """The Chinese of one label, such as a heading or a column's name; `context` says which, as gettext's msgctxt."""
    return labels_in_chinese().get(context, english)


@cache
def labels_in_chinese() -> Mapping[str, str]:
    """The Chinese of every label, by its context."""
    return {context: chinese for (context, _), chinese in entries().items() if context}


@cache
def entries() -> Mapping[tuple[str, str], str]:
    """Every entry of the catalogue: context (empty for sentences) and English, with the Chinese.

    Chinese has one plural form, so the two English ones of an entry have the same Chinese."""
    from babel.messages.pofile import read_po  # takes 50 ms, and who works in English does not need it

    found: dict[tuple[str, str], str] = {}
    with CATALOGUE.open("rb") as file:
        for entry in read_po(file, locale="zh_CN", abort_invalid=True):
            chinese = entry.string if isinstance(entry.string, str) else next(iter(entry.string or ()), "")
            for english in (entry.id,) if isinstance(entry.id, str) else entry.id:
                if english and chinese:
                    found[entry.context or "", english] = chinese
    return found


def _template(english: str) -> str:
    return entries().get(("", english), english)
