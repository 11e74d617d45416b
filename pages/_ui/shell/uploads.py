"""Uploaded files as pages read them: from the server's disk, where they wait until the browser leaves."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from streamlit.typing import UploadedFile

from aisbench_core.authoring.upstream.found import ConfigFile
from aisbench_core.web.upload_store import discard_upload, open_upload, read_upload, refusal_of
from pages._ui.shell.core import core
from pages._ui.shell.errors import show_error


@contextmanager
def opened(files: Sequence[UploadedFile]) -> Iterator[list[tuple[str, BinaryIO]]]:
    """The files by their names, open for reading. Raises ConfigError when one of them has gone."""
    folder = core().settings.data_dir
    with ExitStack() as stack:
        yield [(file.name, stack.enter_context(open_upload(folder, file.name, file.getvalue()))) for file in files]


def show_refused(files: Sequence[UploadedFile]) -> None:
    """Say which files were not stored, why, and what to do."""
    for file in files:
        if refusal := refusal_of(file.name, file.getvalue()):
            show_error(refusal)


def read_texts(files: Sequence[UploadedFile]) -> list[ConfigFile]:
    """Small files as a whole. Raises ConfigError when one has gone, or is too large to be one."""
    folder = core().settings.data_dir
    return [ConfigFile(file.name, read_upload(folder, file.name, file.getvalue())) for file in files]


def discard_uploads(files: Sequence[UploadedFile]) -> None:
    """Let go of files that were read and are not needed again."""
    for file in files:
        discard_upload(core().settings.data_dir, file.getvalue())
