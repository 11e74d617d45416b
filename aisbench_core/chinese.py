"""Translates English sentences that were stored before there were Messages, as text without a template.

The patterns in `aisbench_core/texts/` are those sentences, with `{}` for values ({n}: a number, {w}: a word, {k}: a key
of the result block, {f}: a file of records, {v}: a variable), each with its Chinese. New sentences are Messages, whose
Chinese is in `messages/zh.po`; no pattern is ever added here.

Only whole sentences of ours are translated. Text of other programs can look like anything, alone or as a value in our
sentences, and is never changed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import yaml

TEXTS = Path(__file__).parent / "texts"
# A value in a pattern. The Chinese refers to values as {0}, {1}, …; {0:said} is translated, too, if it is a sentence of
# ours, and {0:word} even if it is a single word: there it cannot be anybody else's text.
PLACEHOLDER = re.compile(r"\{([nwkfv]?)\}")

KINDS = {
    "n": re.compile(r"-?\d[\d.,]*(?:e[+-]?\d+)?%?|-?inf|nan"),
    "w": re.compile(r"\S+"),
    "": re.compile(r".+", re.DOTALL),
    "k": re.compile(
        "accuracy|throughput_ratio|average_power|max_power|energy_consumption|efficientcy|resource_util_ratio"
    ),
    "v": re.compile(r"\w+"),
    "f": re.compile(r"(?<!\S)\S++(?<=\.jsonl)"),
    "name": re.compile(r"\S+|'[^']*'|\"[^\"]*\""),
}

# What may precede a colon: a field, a file, a run; not an exception's class, which begins a program's message.
NAME = re.compile(r"(?!\w*(?:Error|Exception|Warning)\b)[\w.\[\]/@-]+")

# A quoted name and a predicate.
QUOTED = re.compile(r"((?:'[^']*'|\"[^\"]*\")) (.+)", re.DOTALL)

# States whose reason is always the cloud's message.
QUOTING = frozenset({"queued", "running"})

MARKS = (": ", "; ", " (")
# Longer text is no sentence of ours but another program's, and matching it would take long.
MOST_LETTERS, MOST_PARTS = 1000, 12

# Words of its own that make a sentence recognisable as ours; "all" and "running" can be anybody's.
CLEAR_WORDS = 2

# The same for a sentence that begins with a value of more than a name: "the stack is empty" can be anybody's.
CLEAR_AFTER_TEXT = 3


@dataclass(frozen=True, slots=True)
class Pattern:
    """The texts between the values of a sentence, and the kind of each value."""

    texts: tuple[str, ...]
    kinds: tuple[str, ...]
    chinese: str
    is_clear: bool

    def translate(self, sentence: str) -> str | None:
        """The sentence in Chinese; None unless it matches and the end of each value is certain.

        It is if the texts are found at the same places from the left and from the right, or if each occurs once."""
        first, *between, last = self.texts
        if not (sentence.startswith(first) and sentence.endswith(last) and len(sentence) > len(first) + len(last)):
            return None
        middle = sentence[len(first) : len(sentence) - len(last)]
        values = _split(middle, between)
        if values is None or not (self._is_certain(values) or values == _split_from_end(middle, between)):
            return None
        if not all(KINDS[kind].fullmatch(value) for kind, value in zip(self.kinds, values, strict=True)):
            return None
        return self.chinese.format(*map(_Value, values))

    def _is_certain(self, values: Sequence[str]) -> bool:
        """Whether the end of each value is certain: numbers and words have no blanks, or the text occurs only once."""
        rest = values[-1]
        for value, kind, mark in reversed(list(zip(values, self.kinds, self.texts[1:-1], strict=False))):
            if not (kind in ("n", "w") and " " in mark) and mark in rest:
                return False
            rest = f"{value}{mark}{rest}"
        return True


def _split(text: str, between: Sequence[str]) -> list[str] | None:
    values = []
    for mark in between:
        start = text.find(mark, 1)  # a value is not empty
        if start < 0:
            return None
        values.append(text[:start])
        text = text[start + len(mark) :]
    return [*values, text]


def _split_from_end(text: str, between: Sequence[str]) -> list[str] | None:
    values = _split(text[::-1], [mark[::-1] for mark in reversed(between)])
    return values and [value[::-1] for value in reversed(values)]


class _Value(str):
    __slots__ = ()

    def __format__(self, how: str) -> str:
        if how == "word":
            return in_chinese(self)
        return (_clear(self) or str(self)) if how == "said" else str(self)


@lru_cache(maxsize=4096)
def in_chinese(sentence: str) -> str:
    """A stored sentence of ours in Chinese; any other text unchanged."""
    return _exact().get(sentence) or _clear(sentence) or sentence


def event_in_chinese(message: str, source: str) -> str:
    """A stored event in Chinese. The cloud's text stays as it is: its events, and why a job waits or runs.

    Events of the follower begin with a state or a step, which is translated even before somebody else's text."""
    if source == "cloud":
        return message
    head, colon, reason = message.partition(": ")
    if source == "follower" and colon and head in _heads():
        return f"{_exact()[head]}：{reason if head in QUOTING else _clear(reason) or reason}"
    return in_chinese(message)


@cache
def catalogue() -> dict[str, str]:
    """All patterns with their Chinese."""
    return {
        english: chinese
        for file in sorted(TEXTS.glob("*.zh.yaml"))
        for english, chinese in yaml.safe_load(file.read_text("utf-8")).items()
    }


@cache
def _exact() -> dict[str, str]:
    """The patterns without values."""
    return {english: chinese for english, chinese in catalogue().items() if not PLACEHOLDER.search(english)}


@lru_cache(maxsize=4096)
def _clear(sentence: str) -> str | None:
    """The Chinese of a sentence, or of joined sentences, that cannot be anybody else's."""
    if len(sentence) > MOST_LETTERS or sum(map(sentence.count, MARKS)) > MOST_PARTS:
        return None
    return (
        _headed(sentence)
        or _sentence(sentence)
        or _after_name(sentence)
        or _with_hint(sentence)
        or _listed(sentence)
        or _after_colon(sentence)
    )


def _ours(sentence: str) -> str | None:
    """The same, also for text that could be anybody's: for use beside text that is clearly ours."""
    return _exact().get(sentence) or _sentence(sentence) or _matched(sentence, clear=False) or _clear(sentence)


def _headed(sentence: str) -> str | None:
    """`running: reason`: a state or a step, and a sentence of ours."""
    head, colon, reason = sentence.partition(": ")
    translated = _clear(reason) if colon and head in _heads() else None
    return f"{_exact()[head]}：{translated}" if translated else None


@cache
def _heads() -> frozenset[str]:
    """States and steps."""
    return frozenset(_exact().keys() & yaml.safe_load((TEXTS / "states.zh.yaml").read_text("utf-8")).keys())


def _sentence(sentence: str) -> str | None:
    exact = _exact().get(sentence)
    if exact is not None and _own_words(sentence) >= CLEAR_WORDS:
        return exact
    return _matched(sentence, clear=True)


def _matched(sentence: str, *, clear: bool) -> str | None:
    matches = (pattern.translate(sentence) for pattern in _patterns() if pattern.is_clear is clear)
    return next((chinese for chinese in matches if chinese is not None), None)


@cache
def _patterns() -> tuple[Pattern, ...]:
    """Patterns with values, the most specific ones (with most words of their own) first."""
    with_values = [english for english in catalogue() if english not in _exact()]
    ordered = sorted(with_values, key=lambda english: -len(PLACEHOLDER.sub("", english)))
    return tuple(_pattern(english, catalogue()[english]) for english in ordered)


def _pattern(english: str, chinese: str) -> Pattern:
    parts = PLACEHOLDER.split(english)  # its own words, the kind of a value, and so on
    texts, kinds = tuple(parts[::2]), tuple(parts[1::2])
    # "3 cells" and "ann@host (process 3)" are clear enough; "run fast" and "x is 3" are not
    needed = 1 if "n" in kinds and "" not in kinds and ("w" not in kinds or "(" in english) else CLEAR_WORDS
    words = _own_words(english)
    named_first = not texts[0] and kinds[0] == "" and words < CLEAR_AFTER_TEXT
    return Pattern(texts, ("name", *kinds[1:]) if named_first else kinds, chinese, words >= needed)


def _own_words(english: str) -> int:
    return len(re.findall(r"[A-Za-z]{2,}", PLACEHOLDER.sub("", english)))


def _with_hint(sentence: str) -> str | None:
    """`message (hint)`: an error on one line, of two sentences of ours."""
    if not sentence.endswith(")"):
        return None
    for position in _positions(sentence, " ("):
        if translated := _both(sentence[:position], sentence[position + 2 : -1]):
            return f"{translated[0]}（{translated[1]}）"
    return None


def _listed(sentence: str) -> str | None:
    """`one; another`, where each is ours."""
    parts = sentence.split("; ")
    translated = _both(*parts) if len(parts) > 1 else None
    return "；".join(translated) if translated else None


def _both(*parts: str) -> list[str] | None:
    """The Chinese of adjacent texts; None unless all are ours, and one of them clearly."""
    if not any(map(_clear, parts)):
        return None
    translated = [chinese for part in parts if (chinese := _ours(part))]
    return translated if len(translated) == len(parts) else None


def _after_colon(sentence: str) -> str | None:
    """`where: what`: a sentence of ours and anybody's text, or a name or word of ours and a sentence of ours."""
    for position in _positions(sentence, ": "):
        where, reason = sentence[:position], sentence[position + 2 :]
        chinese, translated = _sentence(where), _clear(reason)
        if translated:
            named = where if NAME.fullmatch(where) else None
            before = chinese or _exact().get(where) or named or _matched(where, clear=False)
        else:
            before = chinese
        if before:
            return f"{before}：{translated or reason}"
    return None


def _after_name(sentence: str) -> str | None:
    """`'name' predicate`: the name stays as it is."""
    match = QUOTED.fullmatch(sentence)
    translated = _sentence(match[2]) if match else None
    return f"{match[1]} {translated}" if match and translated else None


def _positions(sentence: str, mark: str) -> Iterator[int]:
    position = sentence.find(mark)
    while position > 0:
        yield position
        position = sentence.find(mark, position + 1)
