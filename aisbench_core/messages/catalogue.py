"""The Chinese texts of messages and labels, from the gettext catalogue `zh.po`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from aisbench_core.messages.message import Message

CATALOGUE = Path(__file__).parent / "zh.po"


def in_chinese(text: str) -> str:
    """A Message in Chinese; other text, and Messages without a Chinese template, unchanged."""
    if not isinstance(text, Message):
        return text
    return text.translated(lambda english: entries().get(("", english), english))


def label_in_chinese(context: str, english: str) -> str:
    """The Chinese of a label, such as a heading or a column's name; `context` is its msgctxt."""
    return labels_in_chinese().get(context, english)


@cache
def labels_in_chinese() -> Mapping[str, str]:
    """The Chinese of all labels, by context."""
    return {context: chinese for (context, _), chinese in entries().items() if context}


@cache
def entries() -> Mapping[tuple[str, str], str]:
    """All entries: (context, English) to Chinese; the context of messages is empty.

    Chinese has one plural form, so both English forms of an entry have the same Chinese."""
    from babel.messages.pofile import read_po  # takes 50 ms and is not needed for English

    chinese_of: dict[tuple[str, str], str] = {}
    with CATALOGUE.open("rb") as file:
        for entry in read_po(file, locale="zh_CN", abort_invalid=True):
            chinese = entry.string if isinstance(entry.string, str) else next(iter(entry.string or ()), "")
            for english in (entry.id,) if isinstance(entry.id, str) else entry.id:
                if english and chinese:
                    chinese_of[entry.context or "", english] = chinese
    return chinese_of
