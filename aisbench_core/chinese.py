"""What the core says, in Chinese.

The core speaks English only, also in what it stores: findings of checks, events, details, errors. The catalogue in
`aisbench_core/texts/` holds its sentences as they stand in the code, with `{}` where a value differs from case to case
({n}: a number, {w}: one word, {k}: a key of the result block, {f}: a file of records, {v}: a variable), and beside each
of them the Chinese one. A sentence is found again by its shape, so it needs no id, and old records are translated, too.
What is not known stays English.

Only whole sentences of ours are translated. What files and programs of others say can stand alone, or as a value in our
sentences, and looks like anything: it stays as it is, byte for byte.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import yaml

TEXTS = Path(__file__).parent / "texts"
PLACE = re.compile(r"\{([nwkfv]?)\}")
"""Where a sentence of the catalogue has a value. The Chinese one names them {0}, {1}, …; {0:said} is Chinese, too,
where it is a sentence of ours, and {0:word} also where it is a single word of ours: nobody else's text stands there."""

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

NAME = re.compile(r"(?!\w*(?:Error|Exception|Warning)\b)[\w.\[\]/@-]+")
"""What may stand before a colon: a field, a file, a run; no kind of error, which begins what a program says."""

QUOTED = re.compile(r"((?:'[^']*'|\"[^\"]*\")) (.+)", re.DOTALL)
"""A quoted name, and what is said of it."""

QUOTING = frozenset({"queued", "running"})
"""States whose reason is always what the cloud says of the job."""

MARKS = (": ", "; ", " (")
MOST_LETTERS, MOST_PARTS = 1000, 12
"""What is longer is no sentence of ours but what somebody's file or program said, and would take long to look at."""

CLEAR_WORDS = 2
"""So many words of a sentence's own tell it from what others say; "all" and "running" can be anybody's."""

CLEAR_AFTER_TEXT = 3
"""So many, where the sentence begins with a value that is more than a name: "the stack is empty" can be anybody's."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the catalogue that has values: the texts between them, and what kind each of them is."""

    texts: tuple[str, ...]
    kinds: tuple[str, ...]
    chinese: str
    is_clear: bool

    def of(self, said: str) -> str | None:
        """What this says in Chinese, if it is this sentence and there is no doubt what its values are."""
        values = self._values(said)
        return self.chinese.format(*map(_Value, values)) if values else None

    def _values(self, said: str) -> Sequence[str] | None:
        """None unless each text between values has exactly one place: else a value holds such a text itself, and nobody
        can say where it ends."""
        first, last = self.texts[0], self.texts[-1]
        if not (said.startswith(first) and said.endswith(last) and len(said) > len(first) + len(last)):
            return None
        middle = said[len(first) : len(said) - len(last)]
        between = self.texts[1:-1]
        values = _split(middle, between)
        if values is None or not (self._is_certain(values) or values == _split_from_end(middle, between)):
            return None
        fitting = all(KINDS[kind].fullmatch(value) for kind, value in zip(self.kinds, values, strict=True))
        return values if fitting else None

    def _is_certain(self, values: Sequence[str]) -> bool:
        """Whether each value ends where it does because a number or a word has no blanks, or no such text follows."""
        rest = values[-1]
        for value, kind, mark in reversed(list(zip(values, self.kinds, self.texts[1:-1], strict=False))):
            if not (kind in ("n", "w") and " " in mark) and mark in rest:
                return False
            rest = f"{value}{mark}{rest}"
        return True


def _split(text: str, between: Sequence[str]) -> list[str] | None:
    parts = []
    for mark in between:
        place = text.find(mark, 1)  # a value is not empty
        if place < 0:
            return None
        parts.append(text[:place])
        text = text[place + len(mark) :]
    return [*parts, text]


def _split_from_end(text: str, between: Sequence[str]) -> list[str] | None:
    parts = []
    for mark in reversed(between):
        place = text.rfind(mark, 0, len(text) - 1)
        if place < 0:
            return None
        parts.append(text[place + len(mark) :])
        text = text[:place]
    return [text, *reversed(parts)]


class _Value(str):
    __slots__ = ()

    def __format__(self, how: str) -> str:
        if how == "word":
            return in_chinese(self)
        return (_clear(self) or str(self)) if how == "said" else str(self)


@lru_cache(maxsize=4096)
def in_chinese(said: str) -> str:
    """A sentence of the core in Chinese; every other text stays as it is."""
    return _exact().get(said) or _clear(said) or said


def event_in_chinese(message: str, source: str) -> str:
    """What an event says, in Chinese. The cloud's own words stay as they are: its events, and why a job waits or runs.

    What the follower says begins with a state or a step, also where somebody else's words come after it."""
    if source == "cloud":
        return message
    head, colon, what = message.partition(": ")
    if source == "follower" and colon and head in _heads():
        return f"{_exact()[head]}：{what if head in QUOTING else _clear(what) or what}"
    return in_chinese(message)


@cache
def catalogue() -> dict[str, str]:
    """Every sentence with its Chinese one."""
    return {
        english: chinese
        for file in sorted(TEXTS.glob("*.zh.yaml"))
        for english, chinese in yaml.safe_load(file.read_text("utf-8")).items()
    }


@cache
def _exact() -> dict[str, str]:
    """The sentences that have no values."""
    return {english: chinese for english, chinese in catalogue().items() if not PLACE.search(english)}


@lru_cache(maxsize=4096)
def _clear(said: str) -> str | None:
    """The Chinese of a sentence, or of sentences joined as the core joins them, that cannot be anybody else's."""
    if len(said) > MOST_LETTERS or sum(map(said.count, MARKS)) > MOST_PARTS:
        return None
    return (
        _headed(said) or _sentence(said) or _after_name(said) or _with_hint(said) or _listed(said) or _after_colon(said)
    )


def _ours(said: str) -> str | None:
    """The same, also of what could be anybody's: where what stands beside it is clearly ours."""
    return _exact().get(said) or _sentence(said) or _shaped_as(said, clear=False) or _clear(said)


def _headed(said: str) -> str | None:
    """`running: what happened`: a state or a step, and a sentence of ours."""
    head, colon, what = said.partition(": ")
    told = _clear(what) if colon and head in _heads() else None
    return f"{_exact()[head]}：{told}" if told else None


@cache
def _heads() -> frozenset[str]:
    """States and steps, which no file's name begins with."""
    return frozenset(_exact().keys() & yaml.safe_load((TEXTS / "states.zh.yaml").read_text("utf-8")).keys())


def _sentence(said: str) -> str | None:
    exact = _exact().get(said)
    if exact is not None and _own_words(said) >= CLEAR_WORDS:
        return exact
    return _shaped_as(said, clear=True)


def _shaped_as(said: str, *, clear: bool) -> str | None:
    return next(
        (found for each in _shaped() if each.is_clear is clear and (found := each.of(said)) is not None),
        None,
    )


@cache
def _shaped() -> tuple[Sentence, ...]:
    """Sentences with values; those with the most words of their own first, which are the most particular ones."""
    with_values = [(english, chinese) for english, chinese in catalogue().items() if PLACE.search(english)]
    ordered = sorted(with_values, key=lambda pair: -len(PLACE.sub("", pair[0])))
    return tuple(_shape(english, chinese) for english, chinese in ordered)


def _shape(english: str, chinese: str) -> Sentence:
    parts = PLACE.split(english)  # its own words, the kind of a value, and so on
    texts, kinds = tuple(parts[::2]), tuple(parts[1::2])
    # "3 cells" and "ann@host (process 3)" are clear enough; "run fast" and "x is 3" are not
    needed = 1 if "n" in kinds and "" not in kinds and ("w" not in kinds or "(" in english) else CLEAR_WORDS
    words = _own_words(english)
    named_first = not texts[0] and kinds[0] == "" and words < CLEAR_AFTER_TEXT
    return Sentence(texts, ("name", *kinds[1:]) if named_first else kinds, chinese, words >= needed)


def _own_words(english: str) -> int:
    return len(re.findall(r"[A-Za-z]{2,}", PLACE.sub("", english)))


def _with_hint(said: str) -> str | None:
    """`message (hint)`, as errors are written in one line; of two sentences of ours."""
    if not said.endswith(")"):
        return None
    for place in _places(said, " ("):
        if told := _both(said[:place], said[place + 2 : -1]):
            return f"{told[0]}（{told[1]}）"
    return None


def _listed(said: str) -> str | None:
    """`one; another`, where each is ours."""
    parts = said.split("; ")
    told = _both(*parts) if len(parts) > 1 else None
    return "；".join(told) if told else None


def _both(*parts: str) -> list[str] | None:
    """The Chinese of texts that stand side by side; nothing unless each of them is ours, and one of them clearly."""
    if not any(map(_clear, parts)):
        return None
    told = [found for part in parts if (found := _ours(part))]
    return told if len(told) == len(parts) else None


def _after_colon(said: str) -> str | None:
    """`where: what`: a sentence of ours and what somebody says, or a name or word of ours and a sentence of ours."""
    for place in _places(said, ": "):
        where, what = said[:place], said[place + 2 :]
        chinese, told = _sentence(where), _clear(what)
        if told:
            named = where if NAME.fullmatch(where) else None
            before = chinese or _exact().get(where) or named or _shaped_as(where, clear=False)
        else:
            before = chinese
        if before:
            return f"{before}：{told or what}"
    return None


def _after_name(said: str) -> str | None:
    """`'name' is so`: the name stays as it is."""
    found = QUOTED.fullmatch(said)
    told = _sentence(found[2]) if found else None
    return f"{found[1]} {told}" if found and told else None


def _places(said: str, mark: str) -> Iterator[int]:
    place = said.find(mark)
    while place > 0:
        yield place
        place = said.find(mark, place + 1)
