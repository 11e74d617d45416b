"""Text with its template and values, and its Chinese from the gettext catalogue `zh.po`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from aisbench_core.base.messages.file_names import readable_name

CATALOGUE = Path(__file__).parent / "zh.po"

Value = str | int | float | bool | None
"""The value of a placeholder: text, a number, or another Message. Only Messages are translated."""


class Message(str):
    """English text that can be translated.

    The template is the msgid in `zh.po`, as in gettext: write it as one literal with named placeholders, as in
    `Message("cannot read {path}: {why}", path=path, why=error)`. Values that are not Messages, such as names, paths and
    exceptions, are the same in all languages.

    Methods of str (`strip`, `+`, f-strings) return plain text, which cannot be translated: combine Messages with
    `joined`, or as values of another Message."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, /, **values: object) -> "Message":
        converted = {name: _to_value(value) for name, value in values.items()}
        message = super().__new__(cls, _fill_template(template, converted))
        message.template, message.values = template, converted
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_message, (type(self), self.template, dict(self.values))

    def translate_with(self, template_of: Callable[[str], str]) -> str:
        """The text with all templates replaced by `template_of`."""
        values = {
            name: value.translate_with(template_of) if isinstance(value, Message) else value
            for name, value in self.values.items()
        }
        return _fill_template(template_of(self.template), values)

    def with_texts(self, change: Callable[[str], str]) -> "Message":
        """A copy with `change` applied to all texts among its values, for instance to mask secrets."""

        def change_value(value: Value) -> Value:
            if isinstance(value, Message):
                return value.with_texts(change)
            return change(value) if isinstance(value, str) else value

        return _make_message(
            type(self), self.template, {name: change_value(value) for name, value in self.values.items()}
        )


Hint = Message | Literal[""]
"""What to do, or empty."""


class Joined(Message):
    """Messages and texts joined by a separator, which is the template."""

    __slots__ = ()

    def __new__(cls, separator: str, /, **parts: object) -> "Joined":
        converted = {name: _to_value(part) for name, part in parts.items()}
        message = str.__new__(cls, separator.join(map(str, converted.values())))
        message.template, message.values = separator, converted
        return message

    def translate_with(self, template_of: Callable[[str], str]) -> str:
        """The translated parts, joined by the translated separator."""
        parts = (
            part.translate_with(template_of) if isinstance(part, Message) else part for part in self.values.values()
        )
        return template_of(self.template).join(map(str, parts))


class Bilingual(Message):
    """Text that somebody else wrote in both languages; without Chinese it is the same in all."""

    __slots__ = ()

    def translate_with(self, template_of: Callable[[str], str]) -> str:  # noqa: ARG002  # the catalogue has none of it
        """The Chinese that came with it."""
        return str(self.values["chinese"] or self.values["english"])


def make_bilingual(english: str, chinese: str) -> Message:
    """Foreign text of which there is a Chinese version."""
    return Bilingual("{english}", english=english, chinese=chinese)


def join_parts(separator: str, parts: Iterable[object]) -> Message:
    """Messages and texts as one Message, as in "one; another"; the separator is translated, too."""
    return Joined(separator, **{f"part{number}": part for number, part in enumerate(parts)})


def choose_plural(number: int, one: str, many: str, /, **values: object) -> Message:
    """`one` for exactly one, else `many`; both may contain `{number}`."""
    return Message(one if number == 1 else many, number=number, **values)


def make_verbatim(text: object) -> Message:
    """Text that is the same in all languages, as a Message."""
    return Message("{text}", text=text)


def message_of(text: str) -> Message:
    """The text, wrapped with `verbatim` unless it is a Message."""
    return text if isinstance(text, Message) else make_verbatim(text)


def in_chinese(text: str) -> str:
    """A Message in Chinese; other text, and Messages without a Chinese template, unchanged."""
    if not isinstance(text, Message):
        return text
    return text.translate_with(lambda english: load_entries().get(("", english), english))


def label_in_chinese(context: str, english: str) -> str:
    """The Chinese of a label, such as a heading or a column's name; `context` is its msgctxt."""
    return labels_in_chinese().get(context, english)


@cache
def labels_in_chinese() -> Mapping[str, str]:
    """The Chinese of all labels, by context."""
    return {context: chinese for (context, _), chinese in load_entries().items() if context}


@cache
def load_entries() -> Mapping[tuple[str, str], str]:
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


def _fill_template(template: str, values: Mapping[str, Value]) -> str:
    """Not formatted without values, so that such templates may contain braces."""
    return template.format(**values) if values else template


_VALUES = (str, int, float, type(None))


def _to_value(value: object) -> Value:
    # A tuple, because isinstance takes twice as long with `str | int | float`, and a million verdicts make 30 million.
    value = value if isinstance(value, _VALUES) else str(value)
    return readable_name(value) if type(value) is str else value


def _make_message(kind: type[Message], template: str, values: Mapping[str, Value]) -> Message:
    return kind(template, **values)
