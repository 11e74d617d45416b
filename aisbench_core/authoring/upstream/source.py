"""From the bytes of a file to its text, its syntax tree and its comments; nothing is executed."""

import ast
import io
import textwrap
import threading
import tokenize
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aisbench_core.authoring.upstream.found import ConfigFile
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

MOST_BYTES = 256 * 1024
"""Far more than any configuration has; the syntax tree of more would take a lot of memory."""

_ENCODINGS = ("utf-8-sig", "gb18030")  # GB 18030 holds all of GBK
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_QUIETLY = threading.Lock()


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a file by line: those that have a line to themselves, and those behind something."""

    alone: Mapping[int, str]
    behind: Mapping[int, str]

    def about(self, first: int, last: int) -> str:
        """What is said right above these lines and behind the last one; values that were commented out say nothing."""
        start = first
        while start - 1 in self.alone:
            start -= 1
        lines = [*(self.alone[line] for line in range(start, first)), self.behind.get(last, "")]
        return " ".join(line for line in lines if line and line[0] not in "{}[]'\"")


def decoded(file: ConfigFile) -> str:
    """The file's text with `\\n` at the end of each line. Raises ConfigError when it is too large or not text."""
    if len(file.content) > MOST_BYTES:
        size = Message("{number:,} bytes", number=len(file.content))
        raise ConfigError(
            Message("{file} has {size}; allowed: {most:,}", file=file.name, size=size, most=MOST_BYTES),
            Message("it is no configuration of this kind"),
        )
    encodings = ("utf-16",) if file.content.startswith(_UTF16) else _ENCODINGS
    for encoding in encodings:
        try:
            text = file.content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ConfigError(Message("{file} is neither UTF-8 nor GBK text", file=file.name), Message("save it as UTF-8"))


def parsed(text: str, name: str) -> ast.Module:
    """The syntax tree. Raises ConfigError, naming the line; no text of the file is repeated."""
    try:
        with _QUIETLY, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `"\d"` is a warning for a programmer, and this is somebody's path
            return ast.parse(text)
    except SyntaxError as error:
        raise ConfigError(
            Message("{name} is not Python: line {line}: {why}", name=name, line=error.lineno or 1, why=error.msg),
            _advice(error),
        ) from None
    except ValueError:
        raise ConfigError(Message("{name} is not Python: it holds a NUL character", name=name)) from None
    except (RecursionError, MemoryError):
        raise ConfigError(Message("{name} cannot be read: its expressions are nested too deeply", name=name)) from None


def straight(text: str) -> str:
    """The text without the indentation that all of its lines share, as it is when copied out of a document."""
    return textwrap.dedent(text)


def comments(text: str) -> Comments:
    """Every comment of a file that is Python, without its `#`."""
    alone: dict[int, str] = {}
    behind: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                place = behind if token.line[: token.start[1]].strip() else alone
                place[token.start[0]] = _plain(token.string.lstrip("#"))
    except (tokenize.TokenError, SyntaxError):  # comments are a kindness; the values were read already
        return Comments({}, {})
    return Comments(alone, behind)


def _plain(comment: str) -> str:
    """The comment on one line, without characters that YAML or a terminal would stumble over."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in comment).split())


def _advice(error: SyntaxError) -> Message | Literal[""]:
    if isinstance(error, TabError):
        return Message("use either tabs or blanks at the start of lines")
    if "U+FF" in error.msg or "U+201" in error.msg:
        return Message("it was typed with a Chinese keyboard: use , : ' instead")
    return ""
