"""A command that somebody on another machine types: its words, its files, and what there shapes its output."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Base64Bytes, ConfigDict, Field, StringConstraints, model_validator

from aisbench_core.model import Frozen

# Of all files of a command together. Base64 makes them a third larger.
MOST_FILE_BYTES = 32 * 1024 * 1024
MOST_BODY = 48 * 1024 * 1024

MOST_FILES = 5000
MOST_ARGUMENTS = 2000
MOST_LETTERS = 100_000
# Of a path: a deeper tree can be made and not removed, as removing one goes down a level at a time.
MOST_PATH = 1000
MOST_PARTS = 50

_TEXT = r"^[^\x00]*$"
# The name of a zone, or an offset as POSIX writes it. A path would be read as a file.
_ZONE = r"^(?!/)(?!.*\.\.)[A-Za-z0-9_+\-/<>,.]*(:[0-9]{2})?$"

# Variables of the client's machine that shape what a command prints; nothing else of its environment is sent.
VARIABLES = ("TZ", "COLUMNS", "NO_COLOR", "AISBENCH_PROFILE", "AISBENCH_LANGUAGE", "AISBENCH_RULESET")

Text = Annotated[str, StringConstraints(max_length=MOST_LETTERS, pattern=_TEXT, strip_whitespace=False)]
Word = Annotated[str, StringConstraints(max_length=40, pattern=r"^[a-z][a-z-]*$")]
Stream = Literal["stdin", "stdout", "stderr"]


def _check_relative(path: str) -> str:
    """The path, if it can only lead below a folder. Raises ValueError."""
    is_printable = not any(letter < " " or letter == "\x7f" or "\ud800" <= letter <= "\udfff" for letter in path)
    if path and not (is_printable and all(part not in ("", ".", "..") for part in path.split("/"))):
        raise ValueError("must be a path without . and .., empty parts and control characters")
    if len(path) > MOST_PATH or path.count("/") >= MOST_PARTS:
        raise ValueError(f"must have at most {MOST_PARTS} parts and {MOST_PATH} characters")
    return path


def _check_absolute(path: str) -> str:
    """The path, if it begins at the root and leads only downwards. Raises ValueError."""
    if not path.startswith("/"):
        raise ValueError("must begin with /")
    _check_relative(path.lstrip("/"))
    return path


class Exact(Frozen):
    """A value whose texts are not stripped: an argument may end with a blank."""

    model_config = ConfigDict(str_strip_whitespace=False, regex_engine="python-re")


class SentFile(Exact):
    """The content of a file. `path`: empty for the file itself, or its path below the folder that was named."""

    path: Annotated[Text, AfterValidator(_check_relative)] = ""
    data: Base64Bytes


class ClientPath(Exact):
    """A file or folder of the client's machine that the command reads or writes. `typed`: as the arguments name it.

    `absolute`: where it is there, because packages are named after their folders. A file that is only written to is
    sent without content, so that the command can refuse to replace it."""

    typed: Text
    absolute: Annotated[Text, AfterValidator(_check_absolute)]
    kind: Literal["missing", "file", "folder"] = "missing"
    files: Annotated[tuple[SentFile, ...], Field(max_length=MOST_FILES)] = ()


class Variables(Exact):
    """Those of VARIABLES that are set."""

    TZ: Annotated[str | None, Field(max_length=64, pattern=_ZONE)] = None
    COLUMNS: Annotated[str | None, Field(pattern=r"^[0-9]{0,4}$")] = None
    NO_COLOR: Annotated[str | None, Field(max_length=20)] = None
    AISBENCH_PROFILE: Annotated[str | None, Field(max_length=200)] = None
    AISBENCH_LANGUAGE: Annotated[str | None, Field(max_length=200)] = None
    AISBENCH_RULESET: Annotated[str | None, Field(max_length=200)] = None


class CommandRequest(Exact):
    """A command with all that it needs. `terminal`: which of the client's streams are a terminal."""

    command: Annotated[tuple[Word, ...], Field(min_length=1, max_length=3)]
    arguments: Annotated[tuple[Text, ...], Field(max_length=MOST_ARGUMENTS)] = ()
    paths: Annotated[tuple[ClientPath, ...], Field(max_length=MOST_ARGUMENTS)] = ()
    variables: Variables = Variables()
    terminal: tuple[Stream, ...] = ()

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        """Limits over all paths together; the client checks them, too, with a better sentence."""
        sizes = [len(file.data) for path in self.paths for file in path.files]
        if len(sizes) > MOST_FILES:
            raise ValueError(f"files of a command: {len(sizes)}, and at most {MOST_FILES} are possible")
        if sum(sizes) > MOST_FILE_BYTES:
            raise ValueError(f"files of a command may have {MOST_FILE_BYTES} bytes together")
        return self


class InputRequest(Exact):
    """What somebody answers to an `ask` record; null where the input has ended."""

    text: Text | None


class ServedBy(Exact):
    """What the server adds for the child process: whose token it is, the key of the launch, and a folder for files."""

    token_id: str
    key: str
    folder: str
