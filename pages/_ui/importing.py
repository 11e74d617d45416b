"""From a modelarts_config.py to a profile and a draft: what was found is shown before anything is kept.

The file is read the moment it arrives, and the widgets that brought it are emptied: what stays in the session has its
keys masked.
"""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.authoring.upstream.found import ConfigFile, Document, FoundSpec, Hints, Imported, LineFinding
from aisbench_core.errors import AisbenchError
from aisbench_core.settings import Credentials, Profile
from pages._ui import drafts, places
from pages._ui.core import core
from pages._ui.errors import errors_shown, plain, show_error
from pages._ui.findings import finding_text
from pages._ui.whole import whole
from pages._ui.words import words

OPEN, DOCUMENT, PROBLEM, ROUND = "import-open", "import-document", "import-problem", "import-round"
PASTED, KEYS, NAME = "import-text", "import-keys", "import-name"
STATE = (OPEN, DOCUMENT, PROBLEM, "import-refused")
FILE = "modelarts_config.py"
MASK = "••••"
MOST_MB = 1


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
        document = st.session_state.get(DOCUMENT)
        if document is None:
            _ask()
        else:
            _show(document)


def _ask() -> None:
    t = words()
    st.markdown(t("import.what"))
    st.file_uploader(
        t("import.files", file=FILE),
        type=["py", "sh", "txt"],
        accept_multiple_files=True,
        key=_uploader(),
        max_upload_size=MOST_MB,
        help=t("import.files_help"),
        on_change=_uploaded,
    )
    st.text_area(t("import.paste"), key=PASTED, height=160, help=t("import.paste_help"), on_change=_pasted)


def _uploader() -> str:
    """The uploader's key: a new one after each reading, so that the server keeps no file."""
    return f"import-files-{st.session_state.get(ROUND, 0)}"


@whole
def _uploaded() -> None:
    uploaded = st.session_state[_uploader()]
    _read([ConfigFile(each.name, each.getvalue()) for each in uploaded])
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1


@whole
def _pasted() -> None:
    text = st.session_state[PASTED]
    _read([ConfigFile(FILE, text.encode("utf-8", "replace"))] if text.strip() else [])
    st.session_state[PASTED] = ""


def _read(files: Sequence[ConfigFile]) -> None:
    if not files:
        return
    try:
        st.session_state[DOCUMENT] = core().configs.read(files)
    except AisbenchError as error:
        st.session_state[PROBLEM] = error


def _show(document: Document) -> None:
    t = words()
    found = core().configs.understand(document, _hints())
    _show_findings(found.findings)
    st.header(t("import.profile"))
    if found.profile:
        _show_profile(found.profile, found.keys)
    else:
        st.markdown(t("import.no_profile"))
    st.header(t("import.jobs"))
    if found.specs:
        _show_job(found)
    else:
        st.markdown(t("import.no_job"))
    st.button(t("import.again"), key="import-again", icon=":material/restart_alt:", on_click=_start_over)


def _hints() -> Hints:
    """What the person says about the file; the widgets keep it."""
    t = words()
    titles = {"": t("import.told")}
    titles |= {each.name: f"{t.pick(each.title, each.title_zh)} ({each.name})" for each in core().workloads.all()}
    left, right = st.columns(2)
    with left:
        workload = st.selectbox(
            t("field.workload"), list(titles), format_func=titles.__getitem__, key="import-workload"
        )
    with right:
        code = st.text_input(t("field.code_dir"), key="import-code", help=t("import.code_help"))
    return Hints(workload=workload, package=code, code_dir=code.strip(), profile=st.session_state.get(NAME, "").strip())


def _show_findings(findings: Sequence[LineFinding]) -> None:
    t = words()
    st.header(t("import.findings"))
    if not findings:
        st.markdown(f":material/check_circle: :green[{t('findings.none')}]")
    for each in findings:
        line = t("import.line", line=each.line) + " · " if each.line else ""
        st.markdown(f"**{line}{plain(each.field)}** {finding_text(each)}")


def _show_job(found: Imported) -> None:
    t = words()
    sources = {each.source: each for each in found.specs}
    titles = {name: t("import.job", name=name, api=each.spec.api.upper()) for name, each in sources.items()}
    first = list(sources).index(found.first.source) if found.first else 0
    chosen = st.radio(
        t("import.which"), list(sources), first, format_func=titles.__getitem__, horizontal=True, key="import-job"
    )
    job = sources[chosen]
    if st.button(t("import.use"), key="import-use", type="primary", icon=":material/edit_note:"):
        _use(job, found)
    st.code(to_yaml(job.spec, job.comments), language="yaml", wrap_lines=True)


def _use(job: FoundSpec, found: Imported) -> None:
    draft = drafts.draft_of(job.spec, to_yaml(job.spec, job.comments))
    kept = found.profile and found.profile.name in core().regions.names()
    selection = {"draft": draft} | ({"profile": found.profile.name} if found.profile and kept else {})
    _forget()
    places.go(places.CONFIGURE, selection)


def _show_profile(profile: Profile, keys: Credentials | None) -> None:
    t = words()
    facts = profile.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    rows = {name: str(value) for name, value in facts.items()}
    rows |= {"access_key": MASK, "secret_key": MASK} if keys else {}
    st.dataframe(
        [{t("import.setting"): name, t("import.value"): value} for name, value in rows.items()],
        hide_index=True,
        alt=t("import.profile"),
        height="content",
    )
    st.text_input(t("import.name"), key=NAME, placeholder=profile.name, help=t("import.name_help"))
    if keys:
        st.checkbox(t("import.keys"), key=KEYS, help=t("import.keys_help"))
    replace = bool(st.session_state.get("import-refused")) and st.checkbox(t("import.replace"), key="import-replace")
    if st.button(t("import.save"), key="import-save", icon=":material/save:"):
        _save(profile, keys if st.session_state.get(KEYS) else None, replace)


def _save(profile: Profile, keys: Credentials | None, replace: bool) -> None:
    """Keep the profile, and keys if there are any: they only come here when the person agreed."""
    t = words()
    try:
        core().configs.save_profile(profile, replace)
        if keys:
            core().configs.save_keys(profile.name, keys, replace)
            st.success(t("import.saved_keys", name=plain(profile.name)), icon=":material/check:")
        else:
            st.success(t("import.saved", name=plain(profile.name)), icon=":material/check:")
    except AisbenchError as error:
        st.session_state["import-refused"] = True
        show_error(error)


@whole
def _start_over() -> None:
    _forget()
    st.session_state[OPEN] = True


def _forget() -> None:
    for key in STATE:
        st.session_state.pop(key, None)
