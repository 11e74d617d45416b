"""A run's system description in a dialog: 33 fields and the test, with what the job says beside them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.model import COUNTS, GROUPS, Division, Finding, Run, SystemStatus
from aisbench_core.system.described import Described
from pages._ui.runs import system_draft
from pages._ui.shell import uploads, widgets
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain, show_error
from pages._ui.shell.findings import finding_text, show_field_findings
from pages._ui.shell.words import words

OPEN, SAID, FINDINGS, ROUND = "system-open", "system-said", "system-findings", "system-round"
NOTES = ("hw_notes", "sw_notes")
CHOICES: dict[str, tuple[str, ...]] = {"division": tuple(Division), "status": tuple(SystemStatus)}
TITLES: dict[str, str] = {
    **{each: f"system.{each.name.lower()}" for each in SystemStatus},
    Division.CLOSED: "system.closed",
    Division.OPEN: "system.open_division",
}


def show_system(run: Run) -> None:
    """The button that says how much is stated; it opens the dialog."""
    t = words()
    with errors_shown():
        filled, fields = core().systems.of(run.run_id).counted
        label = t("system.open", filled=filled, fields=fields)
        st.button(label, key="system", icon=":material/dns:", on_click=_open, args=(run.run_id,))
        if st.session_state.get(OPEN) == run.run_id:
            st.dialog(t("system.title"), width="large", on_dismiss=_close)(_dialog)(run)


def _dialog(run: Run) -> None:
    with errors_shown():
        described = core().systems.of(run.run_id)
        changed = system_draft.changes(run.run_id)
        _summary(described)
        _say()
        _actions(run, len(changed))
        tabs = st.tabs([words()(f"system.group_{group}") for group in GROUPS])
        for tab, fields in zip(tabs, GROUPS.values(), strict=True):
            with tab:
                _fields(run.run_id, described, {**described.stated.values, **changed}, fields)
        _files(run.run_id)


def _summary(described: Described) -> None:
    t = words()
    filled, fields = described.counted
    known = described.counted_from_job
    st.progress(filled / fields, text=t("system.counted", filled=filled, fields=fields, known=known))
    st.caption(t("system.what"))


def _say() -> None:
    """What came of the last click, once."""
    said: str | AisbenchError = st.session_state.pop(SAID, "")
    if isinstance(said, AisbenchError):
        show_error(said)
    elif said:
        st.success(said, icon=":material/check:")
    found: Sequence[Finding] = st.session_state.pop(FINDINGS, ())
    for each in found:
        st.markdown(f"**{plain(each.field)}** {finding_text(each)}")


def _actions(run: Run, count: int) -> None:
    t = words()
    if count:
        st.warning(t("system.unsaved", count=count), icon=":material/edit:")
    with st.container(horizontal=True):
        st.button(
            t("system.save"),
            key="system-save",
            type="primary",
            icon=":material/save:",
            disabled=not count,
            on_click=_save,
            args=(run.run_id,),
        )
        if count:
            st.button(
                t("system.discard"),
                key="system-discard",
                icon=":material/undo:",
                on_click=system_draft.discard_system_draft,
                args=(run.run_id,),
            )
        flavor = run.spec.flavor or run.spec.pool_id
        st.button(
            t("system.keep"),
            key="system-keep",
            icon=":material/content_copy:",
            help=t("system.keep_help", profile=plain(run.profile), flavor=plain(flavor)),
            disabled=bool(count) or run.profile not in core().regions.names(),
            on_click=_keep,
            args=(run.run_id,),
        )


def _fields(run_id: str, described: Described, values: dict[str, Any], fields: Sequence[str]) -> None:
    known = described.known.values
    for start in range(0, len(fields), 2):
        for column, field in zip(st.columns(2), fields[start : start + 2], strict=False):
            with column:
                _widget(run_id, field, values.get(field), str(known.get(field, "")))
                if field in known:
                    st.caption(f":material/verified: {words()('system.known', value=plain(str(known[field])))}")
                show_field_findings(described.findings, field)


def _widget(run_id: str, field: str, value: Any, known: str) -> None:
    title, help_text = words().described(field)
    common: dict[str, Any] = {
        "label": title,
        "help": help_text,
    }
    t, name, store = words(), f"system.{run_id}.{field}", partial(system_draft.type_in, run_id, field)
    if field in CHOICES:
        st.selectbox(
            **common, **widgets.single_choice(name, CHOICES[field], value or "", store, lambda each: t(TITLES[each]))
        )
    elif field in COUNTS:
        st.number_input(min_value=1, step=1, placeholder=known, **common, **widgets.field(name, value, store))
    elif field in NOTES:
        st.text_area(placeholder=known, **common, **widgets.field(name, value or "", store))
    else:
        st.text_input(placeholder=known, live=True, **common, **widgets.field(name, value or "", store))


def _files(run_id: str) -> None:
    t = words()
    with st.expander(t("system.files")):
        key = f"system-files-{st.session_state.get(ROUND, 0)}"  # a new one after each reading: no file stays
        st.file_uploader(
            t("system.upload"),
            type="json",
            accept_multiple_files=True,
            key=key,
            help=t("system.upload_help"),
            on_change=_uploaded,
            args=(run_id, key),
        )
        with st.container(horizontal=True):
            for name in core().systems.files(run_id):
                label, icon = t("system.download", file=name), ":material/download:"
                text = partial(_text, run_id, name)
                st.download_button(label, text, name, "application/json", key=name, on_click="ignore", icon=icon)


def _text(run_id: str, name: str) -> str:
    """A file as it is when its button is pressed; right after a change that button may still be the one of before."""
    return core().systems.files(run_id)[name]


@whole
def _uploaded(run_id: str, key: str) -> None:
    uploaded = st.session_state[key]
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    try:
        found = core().systems.read(uploads.read_texts(uploaded))
    except AisbenchError as error:
        st.session_state[SAID] = error
        return
    system_draft.change(run_id, core().systems.of(run_id), dict(found.values))
    st.session_state[SAID] = words()("system.read", count=len(found.values))
    st.session_state[FINDINGS] = found.findings
    uploads.discard_uploads(uploaded)


@whole
def _save(run_id: str) -> None:
    try:
        core().systems.state(run_id, system_draft.changes(run_id), WHO)
    except AisbenchError as error:
        st.session_state[SAID] = error
        return
    system_draft.discard_system_draft(run_id)
    st.session_state[SAID] = words()("system.saved")


@whole
def _keep(run_id: str) -> None:
    try:
        kept = core().systems.keep(run_id, WHO)
    except AisbenchError as error:
        st.session_state[SAID] = error
        return
    st.session_state[SAID] = words()("system.kept", place=plain(str(kept)))


@whole
def _open(run_id: str) -> None:
    st.session_state[OPEN] = run_id


def _close() -> None:
    st.session_state.pop(OPEN, None)
