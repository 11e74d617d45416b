"""Configuration files that people hand over: uploaded, pasted or read."""

from dataclasses import dataclass, field

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message

MOST_BYTES = 256 * 1024  # far more than any configuration has; a syntax tree takes many times the memory of its text

_ENCODINGS = ("utf-8-sig", "gb18030")  # GB 18030 includes GBK
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file as uploaded, pasted or read. `repr` leaves out its content, which may contain keys."""

    name: str
    content: bytes = field(repr=False)


def decode_text(file: ConfigFile) -> str:
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
