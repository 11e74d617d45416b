"""Streaming parser for a multipart form with a single file."""

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header


class NotOneFileError(ValueError):
    """The body is not a form with exactly one part."""


class OnePart:
    """Parses a body in chunks; `header` has the raw header lines of the part."""

    def __init__(self, content_type: str) -> None:
        self.header = bytearray()
        self._parts = 0
        self._has_ended = False
        self._content = bytearray()
        self._value = bytearray()
        _, options = parse_options_header(content_type)
        try:
            self._parser = MultipartParser(
                options.get(b"boundary") or b"",
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._add_to_header,
                    "on_header_value": self._add_to_value,
                    "on_header_end": self._end_header,
                    "on_part_data": self._add,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise NotOneFileError(str(error)) from error

    def feed(self, chunk: bytes) -> bytes:
        """The part of the file in this chunk of the body. Raises NotOneFileError."""
        self._content.clear()
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise NotOneFileError(str(error)) from error
        if self._parts > 1:
            raise NotOneFileError("the form has more than one part")
        return bytes(self._content)

    def finish(self) -> None:
        """Raise NotOneFileError if the body is incomplete."""
        if not (self._parts and self._has_ended):
            raise NotOneFileError("the form has no end")

    def _begin(self) -> None:
        self._parts += 1

    def _add_to_header(self, data: bytes, start: int, end: int) -> None:
        self.header += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self.header += b": " + self._value + b"\r\n"
        self._value.clear()

    def _add(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def _end(self) -> None:
        self._has_ended = True
