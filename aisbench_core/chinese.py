"""What the core says, in Chinese.

The core speaks English only, also in what it stores: findings of checks, events, details, errors. The catalogue in
`aisbench_core/texts/` holds its sentences as they stand in the code, with `{}` where a value differs from case to case
({n}: a number, {w}: one word), and beside each of them the Chinese one. A sentence is found again by its shape, so it
needs no id, and old records are translated, too. What is not known stays English.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import yaml

TEXTS = Path(__file__).parent / "texts"
PLACE = re.compile(r"\{([nw]?)\}")
"""Where a sentence of the catalogue has a value. The Chinese one names them {0}, {1}, …; {0:said} is Chinese, too."""

KINDS = {"": "(.+?)", "n": r"(-?\d[\d.,]*(?:e[+-]?\d+)?%?|-?inf|nan)", "w": r"(\S+?)"}


NAMED = re.compile(r"((?:'[^']*'|\"[^\"]*\")) (.+)", re.DOTALL)
"""A quoted name, and what is said of it."""

MARKS = (": ", "; ", " (")
MOST_LETTERS, MOST_PARTS = 1000, 12
"""What is longer is no sentence of ours but what somebody's file or program said, and would take long to look at."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the catalogue."""

    shape: re.Pattern[str]
    chinese: str

    def of(self, said: str) -> str | None:
        """What this says in Chinese, if it is this sentence."""
        found = self.shape.fullmatch(said)
        return self.chinese.format(*map(_Value, found.groups())) if found else None


class _Value(str):
    __slots__ = ()

    def __format__(self, how: str) -> str:
        return in_chinese(self) if how == "said" else str(self)


@lru_cache(maxsize=4096)
def in_chinese(said: str) -> str:
    """A sentence of the core in Chinese; one that is not known is looked at in its parts, and else stays as it is."""
    if len(said) > MOST_LETTERS or sum(map(said.count, MARKS)) > MOST_PARTS:
        return said
    return _whole(said) or _after_name(said) or _with_hint(said) or _listed(said) or _after_colon(said) or said


@cache
def catalogue() -> dict[str, str]:
    """Every sentence with its Chinese one."""
    return {
        english: chinese
        for file in sorted(TEXTS.glob("*.zh.yaml"))
        for english, chinese in yaml.safe_load(file.read_text("utf-8")).items()
    }


def _whole(said: str) -> str | None:
    exact = catalogue().get(said)
    if exact is not None:
        return exact
    where, colon, what = said.partition(": ")
    if colon and where in catalogue():  # a state or a step, and then what happened in it
        return f"{catalogue()[where]}：{in_chinese(what)}"
    return next((chinese for each in _shaped() if (chinese := each.of(said)) is not None), None)


@cache
def _shaped() -> tuple[Sentence, ...]:
    """Sentences with values; those with the most words of their own first, which are the most particular ones."""
    with_values = [(english, chinese) for english, chinese in catalogue().items() if PLACE.search(english)]
    ordered = sorted(with_values, key=lambda pair: -len(PLACE.sub("", pair[0])))
    return tuple(Sentence(_shape(english), chinese) for english, chinese in ordered)


def _shape(english: str) -> re.Pattern[str]:
    parts = PLACE.split(english)  # its own words, the kind of a value, and so on
    shape = "".join(KINDS[part] if number % 2 else re.escape(part) for number, part in enumerate(parts))
    return re.compile(shape, re.DOTALL)


def _with_hint(said: str) -> str | None:
    """`message (hint)`, as errors are written in one line."""
    if not said.endswith(")"):
        return None
    for place in _places(said, " ("):
        message, hint = said[:place], said[place + 2 : -1]
        if (chinese := _whole(message) or _after_name(message) or _after_colon(message)) or _whole(hint):
            return f"{chinese or message}（{in_chinese(hint)}）"
    return None


def _listed(said: str) -> str | None:
    """`one; another`, each by itself."""
    parts = said.split("; ")
    if len(parts) == 1:
        return None
    told = [in_chinese(part) for part in parts]
    return "；".join(told) if told != parts else None


def _after_colon(said: str) -> str | None:
    """`where: what`, each by itself; whoever says where may be a name."""
    for place in _places(said, ": "):
        where, what = said[:place], said[place + 2 :]
        chinese, told = _whole(where), in_chinese(what)
        if chinese or told != what:
            return f"{chinese or where}：{told}"
    return None


def _after_name(said: str) -> str | None:
    """`'name' is so`: the name stays as it is."""
    found = NAMED.fullmatch(said)
    told = _whole(found[2]) if found else None
    return f"{found[1]} {told}" if found and told else None


def _places(said: str, mark: str) -> Iterator[int]:
    place = said.find(mark)
    while place > 0:
        yield place
        place = said.find(mark, place + 1)
