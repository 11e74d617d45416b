"""Parses Python text to literals, without executing anything; other expressions become findings."""

import ast
import io
import threading
import tokenize
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Hint, Message
from aisbench_core.exchange.upstream.configs.contents import LineFinding, Literal, NotLiteral, make_finding
from aisbench_core.exchange.upstream.configs.keys import SECRET

_WARNINGS = threading.Lock()  # warnings.catch_warnings() changes the filters of all threads


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a file by line: on a line of their own, or behind code."""

    alone: Mapping[int, str]
    behind: Mapping[int, str]

    def about(self, first: int, last: int) -> str:
        """The comments directly above these lines and behind the last one, without values that are commented out."""
        start = first
        while start - 1 in self.alone:
            start -= 1
        lines = [*(self.alone[line] for line in range(start, first)), self.behind.get(last, "")]
        return " ".join(line for line in lines if line and line[0] not in "{}[]'\"")


def parse_source(text: str, name: str) -> ast.Module:
    """The syntax tree. Raises ConfigError with the line, but without text of the file, which may contain keys."""
    if "\0" in text:  # about which each version of Python says something else
        raise ConfigError(Message("{name} is not Python: it contains a NUL character", name=name))
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as for `"\d"` in a path
            return ast.parse(text)
    except SyntaxError as error:
        message = Message("{name} is not Python: line {line}: {why}", name=name, line=error.lineno or 1, why=error.msg)
        raise ConfigError(message, _give_advice(error)) from None
    except (RecursionError, MemoryError):  # how the parser fails on deep nesting
        raise ConfigError(Message("{name} cannot be read: its expressions are nested too deeply", name=name)) from None


def collect_comments(text: str) -> Comments:
    """All comments of a Python file, without `#`."""
    alone: dict[int, str] = {}
    behind: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines = behind if token.line[: token.start[1]].strip() else alone
                lines[token.start[0]] = _to_plain(token.string.lstrip("#"))
    except (tokenize.TokenError, SyntaxError):  # comments are optional, and the values were read already
        return Comments({}, {})
    return Comments(alone, behind)


def _to_plain(comment: str) -> str:
    """The comment on one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in comment).split())


def _give_advice(error: SyntaxError) -> Hint:
    if isinstance(error, TabError):
        return Message("indent with either tabs or spaces")
    # Python names the code point: U+FF0C is a full-width comma, U+201C a curly quote.
    if "U+FF" in error.msg or "U+201" in error.msg:
        return Message("it contains full-width punctuation: use , : ' instead")
    return ""


MOST_LEVELS = 32

_KINDS: Mapping[type[ast.expr], Message] = {
    ast.Call: Message("a call"),
    ast.Name: Message("a name"),
    ast.Attribute: Message("an attribute"),
    ast.Subscript: Message("a subscript"),
    ast.JoinedStr: Message("an f-string"),
    ast.BinOp: Message("a calculation"),
    ast.IfExp: Message("a condition"),
    ast.Lambda: Message("a function"),
    ast.Starred: Message("an unpacking"),
}


class Literals:
    """Reads the values of one file and collects findings."""

    def __init__(self, constructors: Collection[str], comments: Comments) -> None:
        """`constructors`: the names of EasyDict and dict in this file."""
        self.findings: list[LineFinding] = []
        self._constructors = constructors
        self._comments = comments

    def is_dict(self, node: ast.expr) -> bool:
        """Whether the expression is a dict display or a call of a dict constructor."""
        return isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and self._is_constructor(node.func))

    def read(self, node: ast.expr, field: str, level: int = 0) -> Literal:
        """The value; parts that are not literals become findings. Raises ConfigError for deep nesting."""
        if level > MOST_LEVELS:
            top = field.partition("[")[0]
            message = Message(
                "line {line}: {name}: more than {most} levels of lists and dicts",
                line=node.lineno,
                name=top,
                most=MOST_LEVELS,
            )
            raise ConfigError(message)
        if self.is_dict(node):
            return Literal(self._read_dict(node, field, level + 1), node.lineno)
        if isinstance(node, ast.List | ast.Tuple):
            return Literal(tuple(self._iterate_items(node.elts, field, level + 1)), node.lineno)
        return self._read_plain(node, field)

    def _iterate_items(self, nodes: Iterable[ast.expr], field: str, level: int) -> Iterator[Literal]:
        for index, node in enumerate(nodes):
            item = self.read(node, f"{field}[{index}]", level)
            comment = self._comments.about(node.lineno, node.end_lineno or node.lineno)
            yield Literal(item.value, item.line, comment)

    def _read_dict(self, node: ast.expr, field: str, level: int) -> dict[str, Literal]:
        entries: dict[str, Literal] = {}
        for key, value, line in self._iterate_pairs(node, field):
            inner = f"{field}.{quote_key(key)}"
            if key in entries:
                message = Message("is given twice (first in line {line}); the last one counts", line=entries[key].line)
                self.findings.append(make_finding("config.duplicate", inner, message, line))
            literal = self._read_secret(value, inner) if key in SECRET else self.read(value, inner, level)
            entries[key] = Literal(literal.value, line, literal.comment)
        return entries

    def _iterate_pairs(self, node: ast.expr, field: str) -> Iterator[tuple[str, ast.expr, int]]:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value, key.lineno
                else:
                    self._refuse_node(key or value, field, Message("a key") if key else Message("an unpacking (**)"))
        elif isinstance(node, ast.Call):
            for argument in node.args:
                if self.is_dict(argument) and len(node.args) == 1:  # EasyDict({…})
                    yield from self._iterate_pairs(argument, field)
                else:
                    self._refuse_node(argument, field)
            for keyword in node.keywords:
                if keyword.arg:
                    yield keyword.arg, keyword.value, keyword.lineno
                else:
                    self._refuse_node(keyword.value, field, Message("an unpacking (**)"))

    def _read_secret(self, node: ast.expr, field: str) -> Literal:
        # A reader of its own: findings about this expression could contain parts of the key.
        value = Literals(self._constructors, self._comments).read(node, field).value
        if isinstance(value, str):
            return Literal(SecretStr(value), node.lineno)
        if value is not None:
            message = Message("is not literal text; nothing is executed, so the key is not imported")
            self.findings.append(make_finding("config.literal-key", field, message, node.lineno))
        return Literal(None if value is None else NotLiteral(), node.lineno)

    def _read_plain(self, node: ast.expr, field: str) -> Literal:
        if isinstance(node, ast.BinOp):
            return self._join_strings(node, field)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return self._read_signed(node, field)
        if not isinstance(node, ast.Constant):
            return self._refuse_node(node, field)
        # A lone surrogate cannot be encoded, so it could be neither stored nor sent.
        if isinstance(node.value, str) and not _is_unicode(node.value):
            return self._refuse_node(node, field, Message("text that is not valid Unicode"))
        if node.value is None or isinstance(node.value, str | bool | int | float):
            return Literal(node.value, node.lineno)
        return self._refuse_node(node, field, Message("of type {kind}", kind=type(node.value).__name__))

    def _join_strings(self, node: ast.BinOp, field: str) -> Literal:
        """Strings concatenated with `+`; a loop, because a long chain would exceed the recursion limit."""
        parts: list[str] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) and _is_text(left.right):
            parts.append(left.right.value)  # type: ignore[attr-defined]  # checked by _is_text
            left = left.left
        text = "".join([left.value, *reversed(parts)]) if _is_text(left) else None  # type: ignore[attr-defined]
        return self._refuse_node(node, field) if text is None or not _is_unicode(text) else Literal(text, node.lineno)

    def _read_signed(self, node: ast.UnaryOp, field: str) -> Literal:
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        # bool is a subclass of int, but -True is not a literal that anybody means.
        if isinstance(number, bool) or not isinstance(number, int | float):
            return self._refuse_node(node, field)
        return Literal(-number if isinstance(node.op, ast.USub) else number, node.lineno)

    def _refuse_node(self, node: ast.expr, field: str, kind: Message | None = None) -> Literal:
        message = Message(
            "is not a literal ({kind}); nothing is executed",
            kind=kind or _KINDS.get(type(node), Message("an expression")),
        )
        hint: Hint = Message("write the value itself") if field else ""
        self.findings.append(make_finding("config.literal", field, message, node.lineno, hint))
        return Literal(NotLiteral(), node.lineno)

    def _is_constructor(self, function: ast.expr) -> bool:
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in self._constructors


def quote_key(key: str) -> str:
    """A key from the file, shortened and escaped for messages."""
    return key if key.isprintable() and len(key) <= 80 else repr(key)[:80]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
