"""Decodes a file and parses its syntax tree and comments, without executing anything."""

import ast
import io
import threading
import tokenize
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message
from aisbench_core.upstream.configs.contents import ConfigFile

MOST_BYTES = 256 * 1024  # far more than any configuration has; a syntax tree takes many times the memory of its text

_ENCODINGS = ("utf-8-sig", "gb18030")  # GB 18030 includes GBK
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
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


def decoded(file: ConfigFile) -> str:
    """The file's text with `\\n` line ends. Raises ConfigError if it is too large or not text."""
    if len(file.content) > MOST_BYTES:
        size = Message("{number:,} bytes", number=len(file.content))
        message = Message("{file} has {size}; allowed: {most:,}", file=file.name, size=size, most=MOST_BYTES)
        raise ConfigError(message, Message("it is not such a configuration"))
    # Notepad saves "Unicode" as UTF-16, which could also be decoded as GBK.
    encodings = ("utf-16",) if file.content.startswith(_UTF16) else _ENCODINGS
    for encoding in encodings:
        try:
            text = file.content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ConfigError(Message("{file} is neither UTF-8 nor GBK text", file=file.name), Message("save it as UTF-8"))


def parsed(text: str, name: str) -> ast.Module:
    """The syntax tree. Raises ConfigError with the line, but without text of the file, which may contain keys."""
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as for `"\d"` in a path
            return ast.parse(text)
    except SyntaxError as error:
        message = Message("{name} is not Python: line {line}: {why}", name=name, line=error.lineno or 1, why=error.msg)
        raise ConfigError(message, _advice(error)) from None
    except ValueError:
        raise ConfigError(Message("{name} is not Python: it contains a NUL character", name=name)) from None
    except (RecursionError, MemoryError):  # how the parser fails on deep nesting
        raise ConfigError(Message("{name} cannot be read: its expressions are nested too deeply", name=name)) from None


def comments(text: str) -> Comments:
    """All comments of a Python file, without `#`."""
    alone: dict[int, str] = {}
    behind: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines = behind if token.line[: token.start[1]].strip() else alone
                lines[token.start[0]] = _plain(token.string.lstrip("#"))
    except (tokenize.TokenError, SyntaxError):  # comments are optional, and the values were read already
        return Comments({}, {})
    return Comments(alone, behind)


def _plain(comment: str) -> str:
    """The comment on one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in comment).split())


def _advice(error: SyntaxError) -> Message | Literal[""]:
    if isinstance(error, TabError):
        return Message("indent with either tabs or spaces")
    # Python names the code point: U+FF0C is a full-width comma, U+201C a curly quote.
    if "U+FF" in error.msg or "U+201" in error.msg:
        return Message("it contains full-width punctuation: use , : ' instead")
    return ""
