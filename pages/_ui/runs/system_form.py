"""A run's system description in a dialog: 33 fields and the test, with what the job says beside them."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from aisbench_core.domain.authoring.number_ranges import NumberRange, range_of
from aisbench_core.model import COUNTS, FIELDS, GROUPS, Division, Finding, Run, SystemStatus
from aisbench_core.running.systems.descriptions import SystemValues
from pages._ui.configure.findings import finding_text, show_field_findings
from pages._ui.configure.import_findings import show_facts
from pages._ui.runs import system_draft
from pages._ui.shell import numbers, uploads, widgets
from pages._ui.shell.core import actor, at_click, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.outcomes import report_outcome, show_outcome
from pages._ui.shell.words import t

SYSTEM = Dialog("system-open", "large")  # about a run's id

OUTCOME, FINDINGS, ROUND = "system-outcome", "system-findings", "system-round"
NOTES = ("hw_notes", "sw_notes")
CHOICES: dict[str, tuple[str, ...]] = {"division": tuple(Division), "status": tuple(SystemStatus)}
TITLES: dict[str, str] = {
    **{status: f"system.{status.name.lower()}" for status in SystemStatus},
    Division.CLOSED: "system.closed",
    Division.OPEN: "system.open_division",
}


def show_system(run: Run) -> None:
    """The button that says how many fields are set; it opens the dialog."""
    with errors_shown():
        filled, fields = core().systems.of(run.run_id).counted
        label = t("system.open", filled=filled, fields=fields)
        st.button(label, key="system", icon=":material/dns:", on_click=SYSTEM.open, args=(run.run_id,))
        if SYSTEM.subject == run.run_id:
            SYSTEM.show(t("system.title"), _show_dialog, run)


def _show_dialog(run: Run) -> None:
    described = core().systems.of(run.run_id)
    changed = system_draft.read_changes(run.run_id)
    filled, fields = described.counted
    text = t("system.counted", filled=filled, fields=fields, known=described.counted_from_job)
    st.progress(filled / fields, text=text)
    st.caption(t("system.what"))
    show_outcome(OUTCOME)
    findings: Sequence[Finding] = st.session_state.pop(FINDINGS, ())
    for finding in findings:
        st.markdown(f"**{escape_markdown(finding.field)}** {finding_text(finding)}")
    if not is_allowed("Systems.state"):
        _show_values(described)
        _show_downloads(run.run_id)
        return
    _show_actions(run, len(changed))
    values = {**described.stated.values, **changed}
    for tab, names in zip(st.tabs([t(f"system.group_{group}") for group in GROUPS]), GROUPS.values(), strict=True):
        with tab:
            _show_fields(run.run_id, described, values, names)
    _show_files(run.run_id)


def _show_values(described: SystemValues) -> None:
    """What is known, for who cannot change it."""
    known = described.merged.values
    show_facts([(t.describe_field(name)[0], str(value)) for name, value in known.items()], t("system.title"))


def _show_actions(run: Run, changes: int) -> None:
    if changes:
        st.warning(t("system.unsaved", count=changes), icon=":material/edit:")
    args = (run.run_id,)
    with st.container(horizontal=True):
        st.button(
            t("system.save"),
            key="system-save",
            type="primary",
            icon=":material/save:",
            disabled=not changes,
            on_click=_save_system,
            args=args,
        )
        if changes:
            st.button(
                t("system.discard"),
                key="system-discard",
                icon=":material/undo:",
                on_click=system_draft.discard_system_draft,
                args=args,
            )
        flavor = run.spec.flavor or run.spec.pool_id
        st.button(
            t("system.keep"),
            key="system-keep",
            icon=":material/content_copy:",
            help=t("system.keep_help", profile=escape_markdown(run.profile), flavor=escape_markdown(flavor)),
            disabled=bool(changes) or run.profile not in core().regions.names(),
            on_click=_use_for_new_runs,
            args=args,
        )


def _show_fields(run_id: str, described: SystemValues, values: dict[str, Any], fields: Sequence[str]) -> None:
    """In two columns, row by row, so that fields stay in their order where a narrow window has one column."""
    captured, known = described.captured.values, described.unstated.values
    for start in range(0, len(fields), 2):
        for column, field in zip(st.columns(2), fields[start : start + 2], strict=False):
            with column:
                _show_field(run_id, field, values.get(field), str(known.get(field, "")))
                if field in known:
                    source = "system.captured" if field in captured else "system.known"
                    st.caption(f":material/verified: {t(source, value=escape_markdown(str(known[field])))}")
                show_field_findings(described.findings, field)


def _show_field(run_id: str, field: str, value: Any, placeholder: str) -> None:
    title, help_text = t.describe_field(field)
    common: dict[str, Any] = {"label": title, "help": help_text}

    def store(value: system_draft.Value) -> None:
        system_draft.change(run_id, core().systems.of(run_id), {field: value})

    name = f"system.{run_id}.{field}"
    if field in CHOICES:
        choice = widgets.single_choice(name, CHOICES[field], value or "", store, lambda option: t(TITLES[option]))
        st.selectbox(**common, **choice)
        return
    common["placeholder"] = placeholder
    if field in COUNTS:
        allowed, shown = range_of(FIELDS[field], is_whole=True), numbers.text_of(value)
        bound = widgets.bind_field(name, shown, lambda text: store(_parse_count(text, allowed)))
        numbers.show_number_field(title, allowed, help_text=help_text, placeholder=placeholder, **bound)
        numbers.show_refusal(allowed.problem(shown) if shown else "")
    elif field in NOTES:
        st.text_area(**common, **widgets.bind_field(name, value or "", store))
    else:
        st.text_input(live=True, **common, **widgets.bind_field(name, value or "", store))


def _parse_count(text: str, allowed: NumberRange) -> system_draft.Value:
    """The number; what is none stays as it is typed, and cannot be saved."""
    return text.strip() if allowed.problem(text) else int(allowed.read(text))


def _show_files(run_id: str) -> None:
    with st.expander(t("system.files")):
        key = f"system-files-{st.session_state.get(ROUND, 0)}"  # a new one after each reading: no file stays
        st.file_uploader(
            t("system.upload"),
            type="json",
            accept_multiple_files=True,
            key=key,
            help=t("system.upload_help"),
            on_change=_read_files,
            args=(run_id, key),
        )
        _show_downloads(run_id)


def _show_downloads(run_id: str) -> None:
    with st.container(horizontal=True):
        for name in core().systems.files(run_id):
            label, icon = t("system.download", file=name), ":material/download:"
            # Read at the click: right after a change, the browser may still show the button of before.
            text = at_click(_build_file, run_id, name)
            st.download_button(label, text, name, "application/json", key=name, on_click="ignore", icon=icon)


def _build_file(run_id: str, name: str) -> str:
    return core().systems.files(run_id)[name]


@report_outcome(OUTCOME)
def _read_files(run_id: str, key: str) -> str:
    files = st.session_state[key]
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    stated = core().systems.read(uploads.read_texts(files))
    system_draft.change(run_id, core().systems.of(run_id), dict(stated.values))
    st.session_state[FINDINGS] = stated.findings
    uploads.discard_uploads(files)
    return t("system.read", count=len(stated.values))


@report_outcome(OUTCOME)
def _save_system(run_id: str) -> str:
    core().systems.state(run_id, system_draft.read_changes(run_id), actor())
    system_draft.discard_system_draft(run_id)
    return t("system.saved")


@report_outcome(OUTCOME)
def _use_for_new_runs(run_id: str) -> str:
    return t("system.kept_for", place=escape_markdown(str(core().systems.keep(run_id, actor()))))
