"""A sentence that knows its template and its values."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

Value = str | int | float | bool | None
"""What a template is filled with: text of anybody, a number, or another Message. Only a Message is translated."""


class Message(str):
    """One English sentence, and what it was made from, so that it can be said in another language.

    The template is the id under which `zh.po` has the Chinese one, as in gettext: write it as one literal, values by
    name, as in `Message("cannot read {path}: {why}", path=path, why=error)`. Values that are no Message are other
    people's text: names, paths, exceptions, what a program printed. They are shown as they are, in every language.

    As text it is the English sentence. What str's own methods return (`strip`, `+`, f-strings) is plain text, which is
    nobody's sentence any more: put Messages together with `joined`, or as a value of another one."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, /, **values: object) -> "Message":
        kept = {name: _value(value) for name, value in values.items()}
        message = super().__new__(cls, _filled(template, kept))
        message.template, message.values = template, kept
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self.template, dict(self.values))

    def translated(self, template_of: Callable[[str], str]) -> str:
        """The sentence in the language that `template_of` gives the templates of."""
        values = {
            name: value.translated(template_of) if isinstance(value, Message) else value
            for name, value in self.values.items()
        }
        return _filled(template_of(self.template), values)

    def with_texts(self, change: Callable[[str], str]) -> "Message":
        """The same sentence with every text among its values changed, for instance to mask secrets."""
        changed = {
            name: value.with_texts(change) if isinstance(value, Message) else _changed(value, change)
            for name, value in self.values.items()
        }
        return _made(type(self), self.template, changed)


Hint = Message | Literal[""]
"""What to do, or nothing."""


class Joined(Message):
    """Messages and texts side by side; the template is what stands between them."""

    __slots__ = ()

    def __new__(cls, separator: str, /, **parts: object) -> "Joined":
        kept = {name: _value(part) for name, part in parts.items()}
        message = str.__new__(cls, separator.join(map(str, kept.values())))
        message.template, message.values = separator, kept
        return message

    def translated(self, template_of: Callable[[str], str]) -> str:
        """The parts in another language, with its punctuation between them."""
        parts = (part.translated(template_of) if isinstance(part, Message) else part for part in self.values.values())
        return template_of(self.template).join(map(str, parts))


def joined(separator: str, parts: Iterable[object]) -> Message:
    """Messages and other people's texts as one Message, as in "one; another". The separator is translated, too."""
    return Joined(separator, **{f"part{number}": part for number, part in enumerate(parts)})


def plural(number: int, one: str, many: str, /, **values: object) -> Message:
    """`one` for exactly one, else `many`; both may name `{number}`."""
    return Message(one if number == 1 else many, number=number, **values)


def verbatim(text: object) -> Message:
    """Somebody else's text where a Message is expected: the same in every language."""
    return Message("{text}", text=text)


def message_of(text: str) -> Message:
    """This text if it is a Message, else the text as somebody else's."""
    return text if isinstance(text, Message) else verbatim(text)


def _filled(template: str, values: Mapping[str, Value]) -> str:
    """A template without values may have braces of its own."""
    return template.format(**values) if values else template


def _value(value: object) -> Value:
    return value if isinstance(value, str | int | float) or value is None else str(value)


def _changed(value: Value, change: Callable[[str], str]) -> Value:
    return change(value) if isinstance(value, str) else value


def _made(kind: type[Message], template: str, values: Mapping[str, Value]) -> Message:
    return kind(template, **values)
