"""From a configuration of any tool or a package to a draft: the content is shown before anything is stored.

A file is read the moment it arrives, and the widgets that brought it are emptied: what stays in the session has its
keys masked.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.exchange.upstream.configs.contents import Document, Hints, ImportedConfig
from aisbench_core.exchange.upstream.packages.package import Package
from aisbench_core.interfaces.web.uploads import MOST_FILE_BYTES
from aisbench_core.model import RegionJob
from pages._ui.configure.clones import show_clone_button
from pages._ui.configure.draft_list import close_menu
from pages._ui.configure.form import workload_titles
from pages._ui.configure.import_findings import (
    JOB,
    REFUSED,
    offer_draft,
    profile_name,
    show_findings,
    show_imported_profile,
)
from pages._ui.configure.package_import import show_package
from pages._ui.shell import navigation, uploads, widgets
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, is_allowed, right_to
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import show_error
from pages._ui.shell.outcomes import keep_outcome, show_outcome
from pages._ui.shell.words import t

DOCUMENT, PACKAGE, OUTCOME = "import-document", "import-package", "import-outcome"
PASTED, PATH, ROUND, WORKLOAD = "import-text", "import-place", "import-round", "import-workload"
FILE = "modelarts_config.py"
ARCHIVES = (".tar.gz", ".tgz")
MAX_MB = MOST_FILE_BYTES // 1024**2


def show_import_button() -> None:
    """Opens the dialog, which `show_import` draws, for who may launch."""
    if is_allowed("Runs.launch"):
        st.button(t("import.open"), key="import", icon=":material/upload_file:", on_click=_open_import)


@repeat_if_aborted
def _open_import() -> None:
    close_menu()
    IMPORT.open()


def show_job_clone(profile: str, job: RegionJob) -> None:
    """A button that makes a draft of a job of the region: of its run, or of what the region says, in the dialog."""
    if job.run:
        show_clone_button(job.run.run_id, key=job.status.job_id)
    elif st.button(t("clone.button"), key=f"clone-{job.status.job_id}", icon=":material/content_copy:"):
        try:
            document = core().configs.describe_job(core().jobs.describe(profile, job), job.status.name)
        except AisbenchError as error:
            show_error(error)
            return
        IMPORT.open()
        st.session_state[DOCUMENT] = document
        navigation.open_page(navigation.CONFIGURE, {"profile": profile})


def show_import() -> None:
    """The dialog, if it is open."""
    IMPORT.show(t("import.title"), _show_dialog)


def _show_dialog() -> None:
    show_outcome(OUTCOME)
    if PACKAGE in st.session_state:
        show_package(st.session_state[PACKAGE], _close_dialog)
    elif DOCUMENT in st.session_state:
        _show_document(st.session_state[DOCUMENT])
    else:
        _show_sources()
        return
    st.button(t("import.again"), key="import-again", icon=":material/restart_alt:", on_click=_start_over)


def _show_sources() -> None:
    st.markdown(t("import.what", file=FILE))
    st.file_uploader(
        t("import.files", file=FILE),
        type=["py", "sh", "txt", "gz", "tgz", "json", "yaml", "yml", "tf", "ipynb"],
        accept_multiple_files=True,
        key=_get_uploader_key(),
        max_upload_size=MAX_MB,
        help=t("import.files_help"),
        on_change=_read_upload,
    )
    st.text_area(t("import.paste"), key=PASTED, height=160, help=t("import.paste_help"), on_change=_read_text)
    right = right_to("Packages.open")
    help_text = right.help_text or t("import.place_help")
    st.text_input(t("import.place"), key=PATH, help=help_text, on_change=_read_path, disabled=not right.is_given)


def _get_uploader_key() -> str:
    """The uploader's key: a new one after each reading, so that the server keeps no file."""
    return f"import-files-{st.session_state.get(ROUND, 0)}"


@repeat_if_aborted
def _read_upload() -> None:
    files = st.session_state[_get_uploader_key()]

    def read() -> None:
        if len(files) == 1 and files[0].name.lower().endswith(ARCHIVES):
            with uploads.open_uploads(files) as [(name, archive)]:
                _hold_package(core().packages.unpack(name, archive))
        else:
            _read_files(uploads.read_texts(files))

    _try_read(read)
    # Not in a `finally`: where Streamlit leaves the callback halfway, it begins again and needs the files.
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    uploads.discard_uploads(files)


@repeat_if_aborted
def _read_text() -> None:
    text = st.session_state[PASTED]
    if text.strip():
        _try_read(lambda: _read_files([ConfigFile(FILE, text.encode("utf-8", "replace"))]))
    st.session_state[PASTED] = ""


@repeat_if_aborted
def _read_path() -> None:
    path = str(st.session_state[PATH]).strip()
    if path:
        _try_read(lambda: _hold_package(core().packages.open(path, actor())))


def _try_read(read: Callable[[], None]) -> None:
    try:
        read()
    except AisbenchError as error:
        keep_outcome(OUTCOME, error)


def _read_files(files: Sequence[ConfigFile]) -> None:
    if files:
        st.session_state[DOCUMENT] = core().configs.read(files)


def _hold_package(package: Package) -> None:
    """Keep the package until it is made a workload or dropped; its code waits on disk."""
    try:
        st.session_state[PACKAGE] = package
    except BaseException:  # Streamlit leaves the callback, which begins again and unpacks into another folder
        core().packages.drop(package)
        raise


def _show_document(document: Document) -> None:
    imported = core().configs.understand(document, _read_hints())
    show_findings(imported.findings)
    if not document.jobs:  # files of other tools name no profile
        _show_profile(imported)
    st.header(t("import.jobs"))
    if imported.specs:
        offer_draft(imported, t("import.use"), key="import-use", done=IMPORT.close)
    else:
        st.markdown(t("import.no_job"))


def _show_profile(imported: ImportedConfig) -> None:
    st.header(t("import.profile"))
    if imported.profile:
        show_imported_profile(imported.profile, imported.keys)
    else:
        st.markdown(t("import.no_profile"))


def _read_hints() -> Hints:
    """What the person adds to the file; the widgets hold it."""
    titles = {"": t("import.from_file"), **workload_titles()}
    left, right = st.columns(2)
    choice = widgets.session_choice(WORKLOAD, list(titles), "", titles.__getitem__)
    workload = left.selectbox(t("field.workload"), **choice)
    code = right.text_input(t("field.code_dir"), key="import-code", help=t("import.code_help"))
    return Hints(workload=workload, package=code, code_dir=code.strip(), profile=profile_name())


@repeat_if_aborted
def _start_over() -> None:
    IMPORT.close()
    IMPORT.open()


def _close_dialog() -> None:
    """Close the dialog without dropping the package: its code is the workload's now."""
    st.session_state.pop(PACKAGE, None)
    IMPORT.close()


def _clear_import() -> None:
    if package := st.session_state.get(PACKAGE):
        core().packages.drop(package)  # before it is forgotten: Streamlit may abort this halfway, and begin again
    for key in (PACKAGE, DOCUMENT, OUTCOME, REFUSED):
        st.session_state.pop(key, None)
    widgets.forget(WORKLOAD)
    widgets.forget(JOB)


IMPORT = Dialog("import-open", "large", on_close=_clear_import)
