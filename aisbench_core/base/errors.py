"""Every error that a person can meet: a tree with AisbenchError at its root, each class below its base."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.base.messages import Hint, Message, join_parts


class AisbenchError(Exception):
    """Something that a person can understand and act on: what happened, and a hint at what to do."""

    def __init__(self, message: Message, hint: Hint = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def sentence(self) -> Message:
        """What happened and what to do, in one line; `str()` gives the same in English."""
        return (
            Message("{message} ({hint})", message=self.description, hint=self.hint) if self.hint else self.description
        )

    @property
    def description(self) -> Message:
        """What happened, without what to do."""
        return self.message

    def __str__(self) -> str:
        return str(self.sentence)


class ConfigError(AisbenchError):
    """Settings, a profile, credentials or a manifest cannot be used."""


class ReadOnlyFolder(ConfigError):
    """A data folder is read-only: its content can be read, but nothing can be stored."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one field, and the value that was refused."""

    field: str
    message: Message
    value: str = ""

    @property
    def explanation(self) -> Message:
        """What is wrong, and the value, without the field."""
        if not self.value:
            return self.message
        return Message("{problem} (found {found})", problem=self.message, found=self.value)

    @property
    def sentence(self) -> Message:
        """The field and what is wrong with it; `str()` gives the same in English."""
        if self.value:
            return Message(
                "{field}: {problem} (found {found})", field=self.field, problem=self.message, found=self.value
            )
        return join_parts(": ", [self.field, self.message])

    def __str__(self) -> str:
        return str(self.sentence)


class SpecError(AisbenchError):
    """A spec, profile or manifest has unknown keys, wrong types or values out of range."""

    def __init__(self, title: Message, problems: Sequence[Problem], hint: Hint = "") -> None:
        listed = join_parts("; ", (problem.sentence for problem in problems))
        super().__init__(join_parts(": ", [title, listed]), hint)
        self.problems = tuple(problems)


class RunNotFound(AisbenchError):
    """No run has that id."""


class SeriesNotFound(AisbenchError):
    """No series has that id."""


class ScheduleNotFound(ConfigError):
    """No schedule has that name."""


class ScheduleExists(ConfigError):
    """There is a schedule of that name already."""


class TooManyRuns(AisbenchError):
    """A person has launched as many runs as one may, or has as many active ones."""


class TooManyOperations(AisbenchError):
    """A person has as many exports, reports and imports under way as one may; trying again helps."""


class NotAllowed(AisbenchError):
    """The actor lacks the role that this needs."""


class SignedOut(AisbenchError):
    """A session has ended, or its person's access was revoked."""


class SignInFailed(AisbenchError):
    """The provider did not sign somebody in, or what it says of them cannot be used."""


class PersonNotFound(AisbenchError):
    """Nobody of that name has signed in or been given a role."""


class SessionNotFound(AisbenchError):
    """No open session, or more than one, has an id."""


class TokenRefused(AisbenchError):
    """A token is unknown, expired or revoked."""

    def __init__(self, message: Message, hint: Hint = "", owner: str = "") -> None:
        """`owner`: whose the token is, if its secret was right."""
        super().__init__(message, hint)
        self.owner = owner


class ServerUnavailable(AisbenchError):
    """The server that a command is sent to is busy, or does not answer; trying again helps."""


class TokenNotFound(AisbenchError):
    """No token has that id."""


class StaleRun(AisbenchError):
    """The run was changed by somebody else since it was read."""


class ResultError(AisbenchError):
    """A result file is missing, empty, or does not hold a finite positive number."""


class QueryError(AisbenchError):
    """A query is not a SELECT over the warehouse, names unknown columns, or exceeds a limit."""


class DiskError(AisbenchError):
    """The disk is full, failing or read-only; nothing that was stored before is lost."""


class LedgerUnavailable(DiskError):
    """A ledger in PostgreSQL does not answer; nothing that was stored before is lost."""


class LedgerBusy(LedgerUnavailable):
    """Others write to the ledger; trying again helps."""


class DamagedLedger(AisbenchError):
    """The ledger's file is not a database, or is damaged. Recorded results are in the warehouse."""


_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})

# Python's tempfile raises it as FileNotFoundError.
_NO_TEMPORARY_FOLDER = "No usable temporary directory"


def disk_error(error: OSError, file: Path | None = None) -> DiskError | None:
    """The DiskError for a full, failing or read-only disk; None for other errors.

    `file`: the file that was written, if the system does not name it."""
    if (error.strerror or "").startswith(_NO_TEMPORARY_FOLDER):
        hint = Message("free space on this machine, or set TMPDIR to a folder on another disk")
        return DiskError(Message("no folder for temporary files can be written"), hint)
    if error.errno not in _DISK:
        return None
    hint = Message("free space on this machine, or make the data folder writable")
    if name := error.filename or file:
        return DiskError(Message("{file} cannot be written: {why}", file=Path(name).name, why=error.strerror), hint)
    return DiskError(Message("a file cannot be written: {why}", why=error.strerror), hint)


@contextmanager
def full_disks_named() -> Iterator[None]:
    """A context that turns errors of the disk into DiskError, and leaves others unchanged."""
    try:
        yield
    except OSError as error:
        raise disk_error(error) or error from error


class WarehouseError(AisbenchError):
    """The warehouse cannot be read or written."""


class WarehouseBusy(WarehouseError):
    """Another process holds the warehouse; trying again helps."""


class RunsStillDiffer(WarehouseError):
    """Runs were written faster than they were copied to another warehouse; trying again helps."""


class CloudError(AisbenchError):
    """The cloud refused a request, or did not answer it."""

    def __init__(
        self,
        message: Message,
        *,
        operation: str,
        status: int | None = None,
        code: str = "",
        request_id: str = "",
        hint: Hint = "",
    ) -> None:
        super().__init__(message, hint)
        self.operation = operation
        self.status = status
        self.code = code
        self.request_id = request_id

    @property
    def description(self) -> Message:
        """The request, what the cloud said, and its codes."""
        status = f"HTTP {self.status}" if self.status else ""
        request = f"request {self.request_id}" if self.request_id else ""
        facts = ", ".join(fact for fact in (status, self.code, request) if fact)
        answer = [self.message, f"[{facts}]"] if facts else [self.message]
        return join_parts(": ", [self.operation, join_parts(" ", answer)])


class CloudUnavailable(CloudError):
    """Trying again helps: no connection, a time-out, too many requests, or the service's own trouble."""


class CloudRejected(CloudError):
    """Trying again does not help."""


class AuthFailed(CloudRejected):
    """The keys are wrong, lack a right, or this machine's clock is off."""


class AccessDenied(AuthFailed):
    """The keys are known but lack a right: other requests with them may be fine."""


class CloudNotFound(CloudRejected):
    """The job, bucket or object is not there."""


class JobGone(CloudNotFound):
    """The service itself says that it knows no such job; a 404 of a wrong address does not mean that."""


class JobNameTaken(CloudRejected):
    """Another job has this name. Names are ours alone, so it may be one whose answer was lost."""


class QuotaExceeded(CloudRejected):
    """A limit of the account or the region is reached."""


# Characters of a foreign value that an error repeats.
MAX_SHOWN = 60


def clip_value(value: object) -> str:
    """A foreign value for an error: cut, and without characters that a terminal would obey."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(value)[: MAX_SHOWN + 1])
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
