"""Every regular expression of the code base, texts that try to make it slow, and how the cost of a match grows."""

import ast
import importlib
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.source_tree import nodes_of

_PARSER: Any = importlib.import_module("re._parser")  # Python's own parser of patterns; it has no public name any more
_THROUGHOUT = ("findall", "finditer", "split", "sub", "subn")
_MATCHING = ("match", "fullmatch", "search", *_THROUGHOUT)
_ENDLESS = 64
"""Repetitions that may be more often than this are pumped."""

MEASURABLE = 0.002
"""Seconds from which on two costs can be compared."""

MOST_GROWTH = 2.5
CLEARLY_LINEAR = 2.2
"""Of twice the text; then no more needs to be measured."""

SEVERAL = 3
"""After so many measurements their smallest ones are taken for what the costs are."""

WIDE, MOST_WIDE_GROWTH = 8, 24
"""A linear pattern costs 8 times as much for 8 times the text, a quadratic one 64 times. Twice the text does not
decide: where it no longer fits a processor's cache, it took 2.7 times as long."""

MOST_CHARACTERS = 64 * 1024
EXPONENTIAL = 96
"""Characters below which a cost that can be measured is either exponential or the same for any text."""

LEAST_EXPONENTIAL_GROWTH = 3
"""Of four characters more; where each character can be matched in two ways, they cost 16 times as much."""

SUFFIXES = ("", "\n\0")


@dataclass(frozen=True, slots=True)
class UsedPattern:
    """A pattern and one of the ways in which it is used."""

    where: str
    pattern: re.Pattern[Any]
    method: str

    def cost(self, text: str) -> float:
        """CPU seconds of this thread; other programs on the machine do not count."""
        subject: Any = text.encode("utf-8", "replace") if isinstance(self.pattern.pattern, bytes) else text
        call: Callable[..., object] = getattr(self.pattern, self.method)
        arguments = (subject[:0], subject) if self.method in ("sub", "subn") else (subject,)
        start = time.thread_time()
        found = call(*arguments)
        if self.method == "finditer":
            list(found)  # type: ignore[call-overload]  # an iterator here
        return time.thread_time() - start


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that can be made as long as one likes."""

    prefix: str
    pump: str
    suffix: str

    def text(self, characters: int) -> str:
        return self.prefix + self.pump * (characters // len(self.pump)) + self.suffix


def used_patterns(root: Path, sources: Sequence[Path]) -> Iterator[UsedPattern | str]:
    """Every pattern in these files; as text the place of one that is only known while the program runs."""
    public = _methods_by_name(sources)
    for source in sources:
        module = source.relative_to(root).with_suffix("")
        methods = {**public, **_methods_by_name([source])}
        in_loops = _loop_variables(source)
        names_by_call = _assigned_names(source)
        for call in filter(_of_re, nodes_of(source, ast.Call)):
            where = f"{source.relative_to(root)}: {ast.unparse(call.args[0])}"
            varies = any(isinstance(each, ast.Name) and each.id in in_loops for each in ast.walk(call.args[0]))
            compiled = None if varies else _compiled(call, ".".join(module.parts))
            if compiled is None:
                yield where
                continue
            function = call.func.attr  # type: ignore[attr-defined]  # _of_re
            names = names_by_call.get(id(call), ()) if function == "compile" else ()
            used = {function} if function != "compile" else {each for name in names for each in methods.get(name, ())}
            for method in _hardest(used or {"search"}):
                yield UsedPattern(where, compiled, method)


def _hardest(methods: set[str]) -> Iterator[str]:
    """The ways to use a pattern that do whatever the others do: who looks for all matches begins with a search, and a
    search with a match at the first character."""
    yield from methods & {"fullmatch"}
    for ways in (_THROUGHOUT, ("search",), ("match",)):
        if found := [way for way in ways if way in methods]:
            yield found[0]
            return


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Texts that make this pattern try much: each repetition pumped, and each beginning of a match repeated."""
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = _PARSER.parse(text, pattern.flags & ~re.DEBUG)
    alphabet = _alphabet(tree)
    pairs: dict[tuple[str, str], None] = {}
    for prefix, body in _repetitions(tree, ""):
        for pump in (*_examples(body), *alphabet, prefix + _shortest(body)):
            pairs[prefix, pump] = pairs["", prefix + pump] = None
        pairs["", prefix] = None
    for beginning in _beginnings(tree):
        pairs["", beginning] = None
    for prefix, pump in dict.fromkeys(_shortened(prefix, pump) for prefix, pump in pairs if pump):
        for suffix in SUFFIXES:
            yield Attack(prefix, pump, suffix)


def _shortened(prefix: str, pump: str) -> tuple[str, str]:
    """The same texts, said once: `aa` pumped is `a` pumped, and so is `a` before it."""
    period = (pump + pump).find(pump, 1)
    pump = pump[:period]
    return ("" if prefix == pump * (len(prefix) // len(pump)) else prefix), pump


def newer_groups(pattern: re.Pattern[Any]) -> bool:
    """Whether it has an atomic group, or repeats more than one character possessively."""
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    return _has_newer_groups(_PARSER.parse(text, pattern.flags & ~re.DEBUG))


_ONE_CHARACTER = ("LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY")


def _has_newer_groups(nodes: Any) -> bool:
    for name, value in nodes:
        operation = str(name)
        bodies = [value[2]] if operation.endswith("_REPEAT") else _parts(operation, value)
        is_group = operation == "POSSESSIVE_REPEAT" and (
            len(value[2]) != 1 or str(value[2][0][0]) not in _ONE_CHARACTER
        )
        if operation == "ATOMIC_GROUP" or is_group or any(map(_has_newer_groups, bodies)):
            return True
    return False


def grows_too_fast(cost: Callable[[int], float], most: int = MOST_CHARACTERS) -> str:
    """What more input does to the cost, if it is more than proportional; empty otherwise.

    Sizes grow until the cost can be measured; what is never slow up to the longest line need not be compared."""
    size = 16
    while (small := _least_cost(cost, size)) < MEASURABLE or size < EXPONENTIAL:
        if small >= MEASURABLE and (faster := _exceeds(cost, size, (size + 4) / size, LEAST_EXPONENTIAL_GROWTH)):
            return faster
        if size >= most:
            return ""
        size = size + 8 if size < EXPONENTIAL else int(size * min(4, max(1.25, 1.5 * MEASURABLE / small)))
    if cost(2 * size) <= CLEARLY_LINEAR * small or not _exceeds(cost, size, 2, MOST_GROWTH):
        return ""
    return _exceeds(cost, size, WIDE, MOST_WIDE_GROWTH)


def _least_cost(cost: Callable[[int], float], size: int) -> float:
    """The smallest of some measurements; one below what can be measured is enough: any pause of a machine is longer."""
    least = cost(size)
    for _ in range(SEVERAL - 1):
        if least >= MEASURABLE:
            least = min(least, cost(size))
    return least


def _exceeds(cost: Callable[[int], float], size: int, times: float, most: float) -> str:
    small = large = math.inf
    longer = round(size * times)
    for attempt in range(10):  # by turns, so that a busy moment of the machine meets both
        small, large = min(small, cost(size)), min(large, cost(longer))
        if attempt >= SEVERAL and large <= most * small:
            return ""
        if attempt >= SEVERAL and (large > 1 or large > 1.5 * most * small):  # no pause of a machine lasts 4 times
            break
    return f"{size} characters: {small:.4f} s, {longer}: {large:.4f} s"


def _of_re(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in ("compile", *_MATCHING)
    )


def _compiled(call: ast.Call, module: str) -> re.Pattern[Any] | None:
    flags = [each.value for each in call.keywords if each.arg == "flags"]
    position = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)  # type: ignore[attr-defined]
    flags += call.args[position : position + 1]
    expression = ast.Tuple([call.args[0], *flags[:1]], ast.Load())
    try:
        scope = vars(importlib.import_module(module))
        values = eval(compile(ast.fix_missing_locations(ast.Expression(expression)), module, "eval"), dict(scope))  # noqa: S307  # our own source
    except NameError:
        return None
    return re.compile(*values)


def _assigned_names(source: Path) -> dict[int, tuple[str, ...]]:
    """The names that a call's value is given, by the id of the call."""
    return {
        id(node.value): tuple(each.id for each in node.targets if isinstance(each, ast.Name))
        for node in nodes_of(source, ast.Assign)
    }


def _loop_variables(source: Path) -> set[str]:
    loops = [node.target for node in nodes_of(source, ast.For)]
    loops += [node.target for node in nodes_of(source, ast.comprehension)]
    return {node.id for target in loops for node in ast.walk(target) if isinstance(node, ast.Name)}


def _methods_by_name(sources: Iterable[Path]) -> dict[str, set[str]]:
    """How patterns are used by their names: `_RANK.fullmatch`."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for node in nodes_of(source, ast.Attribute):
            if node.attr in _MATCHING and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, set()).add(node.attr)
    return found


def _repetitions(nodes: Any, before: str) -> Iterator[tuple[str, Any]]:
    """Every repetition without an end: the shortest text up to it, and its body."""
    for name, value in nodes:
        operation = str(name)
        if operation.endswith("_REPEAT"):
            _, most, body = value
            if most > _ENDLESS:
                yield before, body
            yield from _repetitions(body, before)
        for inner in _parts(operation, value):
            yield from _repetitions(inner, before)
        before += _shortest([(name, value)])


def _beginnings(nodes: Any) -> Iterator[str]:
    text = ""
    for node in nodes:
        text += _shortest([node])
        if text:
            yield text


def _parts(operation: str, value: Any) -> list[Any]:
    if operation == "SUBPATTERN":
        return [value[3]]
    if operation == "BRANCH":
        return list(value[1])
    if operation == "ATOMIC_GROUP":
        return [value]
    return [value[1]] if operation in ("ASSERT", "ASSERT_NOT") else []


def _shortest(nodes: Any) -> str:
    return "".join(_one(str(name), value) for name, value in nodes)


def _examples(nodes: Any) -> Iterator[str]:
    """A few texts that match a body."""
    yield _shortest(nodes)
    if len(nodes) == 1:
        name, value = str(nodes[0][0]), nodes[0][1]
        if name == "IN":
            yield from _characters(value)
        elif name == "ANY":
            yield from ("a", "0", " ")
        for part in _parts(name, value):
            yield from _examples(part)


def _one(operation: str, value: Any) -> str:
    if operation == "LITERAL":
        return chr(value)
    if operation == "NOT_LITERAL":
        return "a" if value != ord("a") else "b"
    if operation == "ANY":
        return "a"
    if operation == "IN":
        return next(iter(_characters(value)), "a")
    if operation.endswith("_REPEAT"):
        return _shortest(value[2]) * int(value[0])
    if operation in ("ASSERT", "ASSERT_NOT"):
        return ""
    parts: list[str] = [_shortest(part) for part in _parts(operation, value)]
    return min(parts, key=len, default="")


_OF_CLASS = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " ", "CATEGORY_NOT_DIGIT": "a",
             "CATEGORY_NOT_WORD": "-", "CATEGORY_NOT_SPACE": "a"}  # fmt: skip


def _characters(members: Any) -> list[str]:
    """Some characters of a set."""
    if str(members[0][0]) == "NEGATE":
        excluded = re.compile("[" + "".join(_as_set(each) for each in members[1:]) + "]")
        return [each for each in ("a", "0", " ", "(", "<", '"', "'", "-", "[") if not excluded.match(each)][:4]
    found: list[str] = []
    for name, value in members:
        operation = str(name)
        if operation == "LITERAL":
            found.append(chr(value))
        elif operation == "RANGE":
            found.append(chr(value[0]))
        elif operation == "CATEGORY":
            found.append(_OF_CLASS[str(value)])
    return found[:6]


def _as_set(member: Any) -> str:
    operation, value = str(member[0]), member[1]
    if operation == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if operation == "CATEGORY":
        letter = {"DIGIT": "d", "WORD": "w", "SPACE": "s"}[str(value).rpartition("_")[2]]
        return "\\" + (letter.upper() if "NOT" in str(value) else letter)
    return re.escape(chr(value))


def _alphabet(tree: Any) -> list[str]:
    """Characters that the pattern names, and one of each common kind."""
    named = dict.fromkeys(_named(tree))
    return list(dict.fromkeys([*list(named)[:8], "a", "0", " "]))


def _named(nodes: Any) -> Iterator[str]:
    for name, value in nodes:
        operation = str(name)
        if operation == "LITERAL":
            yield chr(value)
        elif operation == "IN":
            yield from _characters(value)
        elif operation.endswith("_REPEAT"):
            yield from _named(value[2])
        for part in _parts(operation, value):
            yield from _named(part)
