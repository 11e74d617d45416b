"""Step 1 of an import: files are chosen and read. What was read stays in the session; nothing is stored."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.typing import UploadedFile

from aisbench_core.exchange.importing.choices import Choices
from aisbench_core.exchange.importing.understanding import understand_results
from aisbench_core.exchange.readers.results import DroppedCell, ParsedResult, Table, Unread
from aisbench_core.interfaces.web.uploads import MOST_FILE_BYTES, MOST_SESSION_BYTES, MOST_SESSION_FILES
from pages._ui.imports.table_columns import apply_corrections, ask_about_columns, show_columns
from pages._ui.shell import uploads, widgets
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, right_to
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

READ, CORRECTIONS, REFUSED, SAVED, ROUND = "old-read", "old-about", "old-refused", "old-saved", "old-round"
ASKED = "old-asked"  # the key of the button that was pressed, until its files are read
MAX_MB = MOST_FILE_BYTES // 1024**2

MAX_SEEN = 1000  # how many results are looked at; what is answered for all holds for the others, too
MAX_OPEN = 20  # up to so many files without a result are listed without a click

PROGRESS_EVERY = 50
OBS = "obs://"
KINDS = ["log", "txt", "out", "json", "csv", "tsv", "xlsx", "zip", "tar", "gz", "tgz", "db", "sqlite"]


@dataclass(frozen=True, slots=True)
class Read:
    """What was read last, from where, and how to read it again once columns turn out to mean something else.

    `mended_by`: the answers about all results that they need most. `dropped`: cells that were not understood, each
    with its file; `dropped_count`: of all of them."""

    name: str
    results: tuple[ParsedResult, ...]
    unread: tuple[Unread, ...]
    tables: tuple[Table, ...]
    again: Callable[[], Iterator[ParsedResult | Unread]]
    mended_by: tuple[str, ...]
    dropped: tuple[tuple[str, DroppedCell], ...] = ()
    dropped_count: int = 0


def last_read() -> Read | None:
    """What was read last in this session."""
    read: Read | None = st.session_state.get(READ)
    return read


def show_source() -> None:
    """Where the results are: in uploaded files, on the console's machine, or in OBS; folded once they are read."""
    read = last_read()
    is_open = read is None or not read.results
    title = t("import_results.source")
    if read:
        title = t("import_results.source_read", name=escape_markdown(read.name))
    # Folded and not left out: a file that its field no longer shows is deleted, and columns are read again.
    with st.expander(title, expanded=is_open, icon=":material/upload_file:"):
        st.caption(t("import_results.what"))
        _choose_source()


def _choose_source() -> None:
    files_tab, path_tab, obs_tab = st.tabs(
        [t("import_results.upload"), t("import_results.path"), t("import_results.obs")]
    )
    with files_tab:
        session_mb = MOST_SESSION_BYTES // 1024**2
        files = st.file_uploader(
            t("import_results.files"),
            type=KINDS,
            accept_multiple_files=True,
            key="old-files",
            max_upload_size=MAX_MB,
            help=t("import_results.files_help", most=MAX_MB, all=session_mb, files=MOST_SESSION_FILES),
        )
        uploads.show_refused(files)
        if _read_button("old-read-files", bool(files)):
            _read_results(_name_files(files), lambda: _results_in(files), _tables_in(files))
    with path_tab:
        may_name = right_to("ResultImport.read_on_server")
        path = st.text_input(
            t("import_results.path_label"),
            key="old-path",
            help=may_name.help_text or t("import_results.path_help"),
            disabled=not may_name.is_given,
        ).strip()
        if _read_button("old-read-path", bool(path)):
            _read_results(path, lambda: _on_server(path)[0], _on_server(path)[1])
    with obs_tab:
        left, right = st.columns([1, 3])
        profile = left.selectbox(t("import_results.keys"), core().regions.names(), key="old-keys")
        example = f"{OBS}bucket/directory/"
        directory = right.text_input(t("import_results.obs_label"), key="old-obs", placeholder=example).strip()
        if _read_button("old-read-obs", bool(profile and directory)):
            prefix = directory if directory.startswith(OBS) else f"{OBS}{directory.lstrip('/')}"
            widgets.remember_choice("old-where", profile)
            _read_results(prefix, lambda: core().imports.read_obs(str(profile), prefix, {}), iter(()))


def _name_files(files: Sequence[UploadedFile]) -> str:
    return files[0].name if len(files) == 1 else f"{files[0].name} … {files[-1].name}"


def _on_server(path: str) -> tuple[Iterator[ParsedResult | Unread], Iterator[Table | Unread]]:
    return core().imports.read_on_server(Path(path), actor())


def _read_button(key: str, ready: bool) -> bool:
    """Whether to read: a click outlives the run that it began, which the end of another upload cuts short."""
    kind: Literal["primary", "secondary"] = "secondary" if last_read() else "primary"
    icon = ":material/search:"
    st.button(
        t("import_results.read"),
        key=key,
        type=kind,
        icon=icon,
        disabled=not ready,
        on_click=_request_reading,
        args=(key,),
    )
    return ready and st.session_state.get(ASKED) == key


@repeat_if_aborted
def _request_reading(key: str) -> None:
    st.session_state[ASKED] = key


def _results_in(files: Sequence[UploadedFile]) -> Iterator[ParsedResult | Unread]:
    with uploads.open_uploads(files) as opened:
        yield from core().imports.read_uploads(opened, {})


def _tables_in(files: Sequence[UploadedFile]) -> Iterator[Table | Unread]:
    with uploads.open_uploads(files) as opened:
        yield from core().imports.tables_in_uploads(opened)


def _read_results(
    name: str, again: Callable[[], Iterator[ParsedResult | Unread]], tables: Iterator[Table | Unread]
) -> None:
    try:
        read = _read_all(name, again, tables)
    except Exception:  # what cannot be read is not read again and again
        st.session_state.pop(ASKED, None)
        raise
    st.session_state[READ] = read
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    for key in (ASKED, CORRECTIONS, REFUSED, SAVED):
        st.session_state.pop(key, None)
    st.rerun()  # the fields to choose files stand above, and fold


def _read_all(
    name: str, again: Callable[[], Iterator[ParsedResult | Unread]], tables: Iterator[Table | Unread]
) -> Read:
    results: list[ParsedResult] = []
    unread: list[Unread] = []
    with st.spinner(t("import_results.reading")), core().operations.count_operation(actor().name):
        progress = st.empty()
        for result in again():
            if isinstance(result, Unread):
                unread.append(result)
                continue
            results.append(result)
            if len(results) % PROGRESS_EVERY == 0:
                progress.caption(t("import_results.so_far", count=len(results)))
        progress.empty()
        readable = tuple(table for table in tables if isinstance(table, Table))
        seen = core().imports.preview(results[:MAX_SEEN], Choices(), actor())
    needed = understand_results(seen, len(results)).mended_by
    dropped = [(result.source, cell) for result in results for cell in result.dropped]
    listed = tuple(dropped[:MAX_SEEN])
    return Read(name, tuple(results), tuple(unread), readable, again, needed, listed, len(dropped))


def show_unknown_columns(read: Read) -> None:
    """The columns that are not understood, with a choice beside each."""
    _correct_columns(read, ask_about_columns(read.tables))


def show_tables(read: Read) -> None:
    """The meanings of tables' columns; a person's corrections are remembered, and everything is read again."""
    _correct_columns(read, show_columns(read.tables))


def _correct_columns(read: Read, changed: dict[str, str]) -> None:
    if changed:
        core().imports.columns.remember(changed, actor())
        _read_results(read.name, read.again, iter(apply_corrections(read.tables, changed)))


def show_dropped(read: Read) -> None:
    """Cells that were not understood, each with its place and the reason; the rest of their rows is imported."""
    if not read.dropped:
        return
    title = t("import_results.dropped", count=f"{read.dropped_count:,}")
    with st.expander(title, icon=":material/warning:"):
        rows = [
            {"file": source, "cell": cell.cell, "header": cell.header, "reason": t.message(cell.reason)}
            for source, cell in read.dropped
        ]
        titles = {
            "file": t("import_results.file"),
            "cell": t("import_results.cell"),
            "header": t("import_results.header"),
            "reason": t("import_results.reason"),
        }
        show_table(rows, titles, title, visible=MAX_OPEN)


def show_unread(read: Read) -> None:
    """Files without a result, each with the reason."""
    if not read.unread:
        return
    title = t("import_results.unread", count=len(read.unread))
    expanded = not read.results or len(read.unread) <= MAX_OPEN
    with st.expander(title, expanded=expanded, icon=":material/warning:"):
        rows = [{"file": unread.source, "reason": t.message(unread.reason)} for unread in read.unread]
        titles = {"file": t("import_results.file"), "reason": t("import_results.reason")}
        show_table(rows, titles, title, visible=MAX_OPEN)
