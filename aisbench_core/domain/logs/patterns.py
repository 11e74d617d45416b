"""What is searched for: text, or a regular expression of RE2, whose time grows with the text whatever people write.

pyarrow brings RE2, and lets go of Python's lock while it searches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.domain.logs.lines import ANSI, decode_line

MOST_LETTERS = 1000

# A pattern is matched with lines; in a chunk of them their borders are `^` and `$`.
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BORDERS = {r"\A": "^", r"\z": "$"}

# Around each match in a marked text. No line has these: control characters were made visible.
BEGIN, END = "\x01", "\x02"


class LogPatternError(ConfigError):
    """A regular expression that cannot be used."""


@dataclass(frozen=True)
class LogPattern:
    """Text, in any case unless it has an upper-case letter itself, or a regular expression, which each line is
    matched with as it is written."""

    text: str
    is_regex: bool = False

    def __post_init__(self) -> None:
        if not self.text or len(self.text) > MOST_LETTERS:
            raise LogPatternError(
                Message("a search has 1 to {most} characters, not {count}", most=MOST_LETTERS, count=len(self.text))
            )
        import pyarrow as pa  # takes 0.1 s, which only those wait for who search
        import pyarrow.compute as pc

        try:
            pc.find_substring_regex(pa.array([""]), self._expression)
        except pa.ArrowInvalid as error:
            why = str(error).partition(": ")[2] or str(error)
            raise LogPatternError(
                Message("the regular expression cannot be used: {why}", why=make_verbatim(why)),
                Message("the syntax is that of RE2, without lookaround and back references, and repeats up to 1000"),
            ) from error

    @cached_property
    def _expression(self) -> str:
        if self.is_regex:
            return self.text
        return ("(?i)" if self.text == self.text.lower() else "") + re.escape(self.text)

    @cached_property
    def _raw_expression(self) -> bytes:
        """What finds text in the bytes of a log, in both encodings."""
        forms = dict.fromkeys(self.text.encode(encoding, "ignore") for encoding in ("utf-8", "gb18030"))
        return (b"(?i)" if self.text == self.text.lower() else b"") + b"|".join(map(re.escape, forms))

    @cached_property
    def _is_found_in_bytes(self) -> bool:
        """Whether bytes are enough: only of ASCII do they tell small letters and capitals that belong together."""
        other_letters = "".join(letter for letter in self.text if not letter.isascii())
        return not self.is_regex and (self.text != self.text.lower() or other_letters == other_letters.upper())

    def may_match(self, chunk: bytearray, size: int) -> bool:
        """Whether any of these lines may match. Cheap; a chunk without a match is only read once."""
        has_colours = chunk.find(b"\x1b", 0, size) >= 0
        if self._is_found_in_bytes and not has_colours:
            return _is_found(self._raw_expression, chunk, size, as_text=False)
        plain = ANSI.sub(b"", memoryview(chunk)[:size]) if has_colours else chunk[:size]
        if b"\r" in plain:
            plain = plain.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not plain.isascii():
            plain = b"\n".join(decode_line(bytes(line)).encode() for line in plain.split(b"\n"))
        expression = "(?m)" + _ESCAPED.sub(lambda found: _BORDERS.get(found[0], found[0]), self._expression)
        return _is_found(expression.encode(), plain, len(plain), as_text=True)

    def find_matching(self, texts: Sequence[str]) -> list[int]:
        """The indices of texts that match."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.find_substring_regex(pa.array(texts, pa.large_string()), self._expression)
        return [int(index) for index in np.flatnonzero(found.to_numpy(zero_copy_only=False) >= 0)]

    def mark_matches(self, text: str) -> str:
        """The text with BEGIN and END around each match."""
        import pyarrow as pa
        import pyarrow.compute as pc

        marks = rf"{BEGIN}\0{END}"
        return str(pc.replace_substring_regex(pa.array([text]), self._expression, marks)[0].as_py())


def _is_found(expression: bytes, chunk: bytearray | bytes, size: int, *, as_text: bool) -> bool:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_string() if as_text else pa.large_binary()
    # One value that refers to the chunk, without a copy. RE2 takes what is no UTF-8 for characters that match nothing.
    offsets = pa.py_buffer(np.array([0, size], dtype=np.int64))
    value = pa.Array.from_buffers(kind, 1, [None, offsets, pa.py_buffer(chunk)])
    return bool(pc.find_substring_regex(value, expression)[0].as_py() >= 0)
