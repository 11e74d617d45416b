"""Uploaded files, which wait on the server's disk until the browser leaves."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

import streamlit as st
from streamlit.typing import UploadedFile

from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.interfaces.web.uploads import discard_upload, open_upload, read_upload, refusal_of
from pages._ui.shell.core import core
from pages._ui.shell.errors import show_error

# Streamlit names the drop zone for screen readers, but hides it from them as "presentation".
NAMED_ZONES = """<script>
(() => {
  if (window.namedZones) return;
  window.namedZones = true;
  const hidden = '[data-testid="stFileUploaderDropzone"][role="presentation"]';
  const name = () => document.querySelectorAll(hidden).forEach(zone => zone.setAttribute("role", "group"));
  new MutationObserver(name).observe(document.body, {childList: true, subtree: true});
  name();
})();
</script>"""


def install_named_zones() -> None:
    """Once in the browser: it serves the uploads of all pages that are shown later."""
    st.html(NAMED_ZONES, unsafe_allow_javascript=True)


@contextmanager
def open_uploads(files: Sequence[UploadedFile]) -> Iterator[list[tuple[str, BinaryIO]]]:
    """The files with their names, open for reading. Raises ConfigError when one no longer exists."""
    folder = core().settings.data_dir
    with ExitStack() as stack:
        yield [(file.name, stack.enter_context(open_upload(folder, file.name, file.getvalue()))) for file in files]


def show_refused(files: Sequence[UploadedFile]) -> None:
    """Which files were refused, why, and what to do."""
    for file in files:
        if refusal := refusal_of(file.name, file.getvalue()):
            show_error(refusal)


def read_texts(files: Sequence[UploadedFile]) -> list[ConfigFile]:
    """The content of small files. Raises ConfigError when one no longer exists, or is too large."""
    folder = core().settings.data_dir
    return [ConfigFile(file.name, read_upload(folder, file.name, file.getvalue())) for file in files]


def discard_uploads(files: Sequence[UploadedFile]) -> None:
    """Delete files that were read and are not needed again."""
    for file in files:
        discard_upload(core().settings.data_dir, file.getvalue())
