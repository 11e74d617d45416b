"""From a modelarts_config.py or a package to a draft: what was found is shown before anything is kept.

A file is read the moment it arrives, and the widgets that brought it are emptied: what stays in the session has its
keys masked.
"""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.authoring.packages.package import Package
from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.authoring.upstream.found import ConfigFile, Document, Hints, ImportedConfig
from aisbench_core.errors import AisbenchError
from aisbench_core.web.upload_store import MOST_FILE_BYTES
from pages._ui.configure.import_findings import (
    JOB,
    REFUSED,
    choose_job,
    draft_selection,
    profile_name,
    show_findings,
    show_imported_profile,
)
from pages._ui.configure.package_import import show_package
from pages._ui.shell import navigation, uploads, widgets
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, show_error
from pages._ui.shell.words import words

OPEN, DOCUMENT, PACKAGE, PROBLEM = "import-open", "import-document", "import-package", "import-problem"
PASTED, PLACE, ROUND = "import-text", "import-place", "import-round"
WORKLOAD = "import-workload"
STATE = (OPEN, DOCUMENT, PACKAGE, PROBLEM, REFUSED)
FILE = "modelarts_config.py"
ARCHIVES = (".tar.gz", ".tgz")
MOST_MB = MOST_FILE_BYTES // 1024**2


def show_import() -> None:
    """The button, and the dialog that it opens."""
    t = words()
    if st.button(t("import.open"), key="import", icon=":material/upload_file:"):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        st.dialog(t("import.title"), width="large", on_dismiss=_forget)(_dialog)()


def _dialog() -> None:
    with errors_shown():
        problem = st.session_state.pop(PROBLEM, None)
        if problem:
            show_error(problem)
        if PACKAGE in st.session_state:
            show_package(st.session_state[PACKAGE], _keep_nothing)
            _offer_another()
        elif DOCUMENT in st.session_state:
            _show(st.session_state[DOCUMENT])
            _offer_another()
        else:
            _ask()


def _ask() -> None:
    t = words()
    st.markdown(t("import.what"))
    st.file_uploader(
        t("import.files", file=FILE),
        type=["py", "sh", "txt", "gz", "tgz"],
        accept_multiple_files=True,
        key=_uploader(),
        max_upload_size=MOST_MB,
        help=t("import.files_help"),
        on_change=_uploaded,
    )
    st.text_area(t("import.paste"), key=PASTED, height=160, help=t("import.paste_help"), on_change=_pasted)
    st.text_input(t("import.place"), key=PLACE, help=t("import.place_help"), on_change=_placed)


def _uploader() -> str:
    """The uploader's key: a new one after each reading, so that the server keeps no file."""
    return f"import-files-{st.session_state.get(ROUND, 0)}"


@whole
def _uploaded() -> None:
    uploaded = st.session_state[_uploader()]
    archives = [each for each in uploaded if each.name.lower().endswith(ARCHIVES)]
    try:
        if archives and len(uploaded) == 1:
            with uploads.opened(archives) as [(name, packed)]:
                _hold(core().packages.unpack(name, packed))
        else:
            _read(uploads.read_texts(uploaded))
    except AisbenchError as error:
        st.session_state[PROBLEM] = error
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    uploads.discard_uploads(uploaded)


@whole
def _pasted() -> None:
    text = st.session_state[PASTED]
    _read([ConfigFile(FILE, text.encode("utf-8", "replace"))] if text.strip() else [])
    st.session_state[PASTED] = ""


@whole
def _placed() -> None:
    place = str(st.session_state[PLACE]).strip()
    if place:
        _open(place)


def _read(files: Sequence[ConfigFile]) -> None:
    if not files:
        return
    try:
        st.session_state[DOCUMENT] = core().configs.read(files)
    except AisbenchError as error:
        st.session_state[PROBLEM] = error


def _open(place: str) -> None:
    try:
        _hold(core().packages.open(place))
    except AisbenchError as error:
        st.session_state[PROBLEM] = error


def _hold(package: Package) -> None:
    """Keep the package until it is made a workload or dropped; its code waits on disk."""
    try:
        st.session_state[PACKAGE] = package
    except BaseException:  # Streamlit leaves the callback, and it begins again with another folder
        core().packages.drop(package)
        raise


def _show(document: Document) -> None:
    t = words()
    found = core().configs.understand(document, _hints())
    show_findings(found.findings)
    st.header(t("import.profile"))
    if found.profile:
        show_imported_profile(found.profile, found.keys)
    else:
        st.markdown(t("import.no_profile"))
    st.header(t("import.jobs"))
    if found.specs:
        _show_job(found)
    else:
        st.markdown(t("import.no_job"))


def _hints() -> Hints:
    """What the person says about the file; the widgets keep it."""
    t = words()
    titles = {"": t("import.told")}
    titles |= {
        workload.name: f"{t.pick(workload.title, workload.title_zh)} ({workload.name})"
        for workload in core().workloads.all()
    }
    left, right = st.columns(2)
    with left:
        workload = st.selectbox(
            t("field.workload"), **widgets.session_choice(WORKLOAD, list(titles), "", titles.__getitem__)
        )
    with right:
        code = st.text_input(t("field.code_dir"), key="import-code", help=t("import.code_help"))
    return Hints(workload=workload, package=code, code_dir=code.strip(), profile=profile_name())


def _show_job(found: ImportedConfig) -> None:
    job = choose_job(found)
    if st.button(words()("import.use"), key="import-use", type="primary", icon=":material/edit_note:"):
        selection = draft_selection(job, found)
        _forget()
        navigation.go(navigation.CONFIGURE, selection)
    st.code(to_yaml(job.spec, job.comments), language="yaml", wrap_lines=True)


def _offer_another() -> None:
    st.button(words()("import.again"), key="import-again", icon=":material/restart_alt:", on_click=_start_over)


@whole
def _start_over() -> None:
    _forget()
    st.session_state[OPEN] = True


def _forget() -> None:
    package = st.session_state.get(PACKAGE)
    if package:
        core().packages.drop(package)
    _keep_nothing()


def _keep_nothing() -> None:
    for key in STATE:
        st.session_state.pop(key, None)
    for choice in (WORKLOAD, JOB):
        widgets.forget(choice)
