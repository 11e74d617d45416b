"""Terraform's language as far as it holds literals: blocks, attributes, lists, maps, and variables with a default.

Nothing is evaluated: of what functions, conditions and other resources say, only the line is known."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rules.secrets import is_likely_secret
from aisbench_core.exchange.upstream.configs.contents import Literal, NotLiteral, SensitiveValue

MOST_LEVELS = 32

_WORD = re.compile(r"[A-Za-z_][\w.*-]*+")
_NUMBER = re.compile(r"-?[0-9]++(\.[0-9]++)?([eE][-+]?[0-9]++)?")
_HEREDOC = re.compile(r"<<(-?)([A-Za-z_]\w*+)[ \t]*+\n")
_TEMPLATE = re.compile(r"[$%]\{([^{}]*+)\}")
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPERATORS = ("==", "!=", "<=", ">=", "=>", "&&", "||")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_CONSTANTS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


class HclToken(NamedTuple):
    """A word, text, number, or a character of its own; `\\n` ends a line."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class HclBlock:
    """A block of the top level, such as `resource "type" "name" { … }`."""

    kind: str
    labels: tuple[str, ...]
    body: Literal


def parse_blocks(text: str, name: str) -> list[HclBlock]:
    """The blocks of a file, with `var.` and `local.` replaced where the file itself gives their values.

    Raises ConfigError with the line."""
    try:
        blocks = list(_Parser(list(_iterate_tokens(text)), {}).iterate_blocks())
        known = dict(_iterate_known(blocks))
        return list(_Parser(list(_iterate_tokens(text)), known).iterate_blocks())
    except _Unreadable as error:
        message = Message("{name} is not Terraform: line {line}: its syntax is wrong", name=name, line=error.line)
        raise ConfigError(message) from None


class _Unreadable(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _iterate_known(blocks: list[HclBlock]) -> Iterator[tuple[str, Literal]]:
    for block in blocks:
        entries = block.body.value if isinstance(block.body.value, Mapping) else {}
        if block.kind == "variable" and block.labels and _is_sensitive(entries):
            yield f"var.{block.labels[0]}", Literal(SensitiveValue(), block.body.line)
        elif block.kind == "variable" and block.labels and "default" in entries:
            yield f"var.{block.labels[0]}", _hide_secret(block.labels[0], entries["default"])
        elif block.kind == "locals":
            yield from ((f"local.{name}", _hide_secret(name, value)) for name, value in entries.items())


def _hide_secret(name: str, literal: Literal) -> Literal:
    """The value of a variable, unless its name says that it is a key or a password."""
    is_text = isinstance(literal.value, str | int | float) and not isinstance(literal.value, bool)
    hides = is_text and is_likely_secret(name, str(literal.value))
    return Literal(SensitiveValue(), literal.line) if hides else literal


def _is_sensitive(entries: Mapping[str, Literal]) -> bool:
    return "sensitive" in entries and entries["sensitive"].value is not False


def _iterate_tokens(text: str) -> Iterator[HclToken]:
    place, line = 0, 1
    while place < len(text):
        end, kind = _find_end(text, place, line)
        if kind:
            yield HclToken(kind, text[place:end], line)
        line += text.count("\n", place, end)
        place = end


def _find_end(text: str, place: int, line: int) -> tuple[int, str]:
    """Where the token at a place ends, and its kind; comments and blanks have none."""
    letter, pair = text[place], text[place : place + 2]
    if letter == "#" or pair == "//":
        return _find_text(text, "\n", place), ""
    if pair == "/*":
        return min(len(text), _find_text(text, "*/", place + 2) + 2), ""
    if letter == '"':
        return _end_of_text(text, place, line), "text"
    if match := _HEREDOC.match(text, place):
        return _end_of_heredoc(text, match, line), "heredoc"
    for pattern, kind in ((_WORD, "word"), (_NUMBER, "number")):
        if match := pattern.match(text, place):
            return match.end(), kind
    if pair in _OPERATORS:
        return place + 2, "operator"
    return place + 1, "" if letter in " \t\r" else letter


def _find_text(text: str, wanted: str, start: int) -> int:
    found = text.find(wanted, start)
    return len(text) if found < 0 else found


def _end_of_text(text: str, start: int, line: int) -> int:
    """Behind the closing quote; those within `${…}` do not close."""
    place, depth = start + 1, 0
    while place < len(text):
        letter = text[place]
        if letter == "\\":
            place += 1
        elif text.startswith(("${", "%{"), place):
            depth, place = depth + 1, place + 1
        elif letter == "}" and depth:
            depth -= 1
        elif letter == '"' and not depth:
            return place + 1
        elif letter == "\n" and not depth:
            break
        place += 1
    raise _Unreadable(line)


def _end_of_heredoc(text: str, match: re.Match[str], line: int) -> int:
    place = match.end()
    while place < len(text):
        end = _find_text(text, "\n", place)
        if text[place:end].strip() == match[2]:
            return end
        place = end + 1
    raise _Unreadable(line)


class _Parser:
    def __init__(self, tokens: list[HclToken], known: Mapping[str, Literal]) -> None:
        last = tokens[-1].line if tokens else 1
        self._tokens = [*tokens, HclToken("end", "", last)]
        self._place = 0
        self._known = known

    def iterate_blocks(self) -> Iterator[HclBlock]:
        while self._skip_lines().kind != "end":
            word = self._take("word")
            labels = self._take_labels()
            yield HclBlock(word.text, labels, self._read_body(1, word.line))

    def _read_body(self, level: int, line: int) -> Literal:
        if level > MOST_LEVELS:
            raise _Unreadable(line)
        self._take("{")
        entries: dict[str, Literal] = {}
        while self._skip_lines().kind != "}":
            word = self._take("word")
            if self._peek().kind == "=":
                self._place += 1
                entries[word.text] = Literal(self._read_value(level).value, word.line)
                continue
            labels, body = self._take_labels(), self._read_body(level + 1, word.line)
            if word.text == "dynamic" and labels:  # as many blocks as an expression says
                entries[labels[0]] = Literal(NotLiteral(), word.line)
            else:
                entries[word.text] = _add_block(entries.get(word.text), Literal(body.value, word.line))
        self._place += 1
        return Literal(entries, line)

    def _read_value(self, level: int) -> Literal:
        first, start = self._peek(), self._place
        value = self._read_operand(level + 1)
        if self._is_at_end():
            return value
        self._place = start
        self._skip_expression()
        return Literal(NotLiteral(), first.line)

    def _read_operand(self, level: int) -> Literal:
        token = self._peek()
        if level > MOST_LEVELS:
            raise _Unreadable(token.line)
        self._place += 1
        if token.kind == "[":
            return Literal(tuple(self._iterate_items(level)), token.line)
        if token.kind == "{":
            return Literal(self._read_map(level), token.line)
        if token.kind == "number":
            return Literal(float(token.text) if set(token.text) & set(".eE") else int(token.text[:18]), token.line)
        if token.kind == "text":
            return Literal(self._resolve(_resolve_escapes(token.text[1:-1])), token.line)
        if token.kind == "heredoc":
            return Literal(self._resolve(_strip_heredoc(token.text)), token.line)
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], token.line)
        if token.text in self._known:
            return Literal(self._known[token.text].value, token.line)
        self._place -= 1
        self._skip_expression()
        return Literal(NotLiteral(), token.line)

    def _iterate_items(self, level: int) -> Iterator[Literal]:
        while self._skip_lines(",").kind != "]":
            yield self._read_value(level)
        self._place += 1

    def _read_map(self, level: int) -> dict[str, Literal]:
        entries: dict[str, Literal] = {}
        while self._skip_lines(",").kind != "}":
            key = self._peek()
            self._place += 1
            if key.kind not in ("word", "text", "number") or self._peek().kind not in ("=", ":"):
                raise _Unreadable(key.line)
            self._place += 1
            self._skip_lines()
            name = _resolve_escapes(key.text[1:-1]) if key.kind == "text" else key.text
            entries[name] = Literal(self._read_value(level).value, key.line)
        self._place += 1
        return entries

    def _resolve(self, text: str) -> str | NotLiteral:
        """The text with variables of the file in it; no text if it holds other expressions."""
        parts = {match[0]: self._known.get(match[1].strip()) for match in _TEMPLATE.finditer(text)}
        if any(part is not None and isinstance(part.value, SensitiveValue) for part in parts.values()):
            return SensitiveValue()
        if any(part is None or not isinstance(part.value, str | int | float) for part in parts.values()):
            return NotLiteral()
        for template, part in parts.items():
            text = text.replace(template, str(part.value) if part else "")
        return NotLiteral() if "${" in text or "%{" in text else text

    def _skip_expression(self) -> None:
        """To the end of the line, or to what closes the list or block around it."""
        open_ones: list[str] = []
        while (token := self._peek()).kind != "end":
            if not open_ones and self._is_at_end():
                return
            if token.kind in _CLOSING:
                open_ones.append(_CLOSING[token.kind])
            elif open_ones and token.kind == open_ones[-1]:
                open_ones.pop()
            self._place += 1

    def _is_at_end(self) -> bool:
        token = self._peek()
        following = self._tokens[min(self._place + 1, len(self._tokens) - 1)].kind
        return token.kind in ("\n", ",", "}", "]", "end") or (token.kind == "word" and following in ("=", "{"))

    def _take_labels(self) -> tuple[str, ...]:
        labels = []
        while self._peek().kind in ("text", "word"):
            labels.append(self._peek().text.strip('"'))
            self._place += 1
        return tuple(labels)

    def _take(self, kind: str) -> HclToken:
        token = self._peek()
        if token.kind != kind:
            raise _Unreadable(token.line)
        self._place += 1
        return token

    def _skip_lines(self, *others: str) -> HclToken:
        while self._peek().kind in ("\n", *others):
            self._place += 1
        if self._peek().kind == "end" and others:
            raise _Unreadable(self._peek().line)
        return self._peek()

    def _peek(self) -> HclToken:
        return self._tokens[self._place]


def _add_block(before: Literal | None, block: Literal) -> Literal:
    """One block alone, several of a kind as a list."""
    if before is None:
        return block
    earlier = before.value if isinstance(before.value, tuple) else (before,)
    return Literal((*earlier, block), before.line)


def _resolve_escapes(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _strip_heredoc(text: str) -> str:
    first, *lines, _ = text.split("\n")
    if first.startswith("<<-"):
        widths = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
        lines = [line[min(widths, default=0) :] for line in lines]
    return "".join(f"{line}\n" for line in lines)
