"""The folded part of the form: one fold per subject, whose label says what is set in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from aisbench_core.base.formats import clip_text
from aisbench_core.model import TERMINAL, Finding, Level, RunSpec
from aisbench_core.model.spec_fields import find_differences, list_form_fields
from aisbench_core.model.spec_roles import FormGroup
from pages._ui.cards import run_cards as cards
from pages._ui.configure import drafts
from pages._ui.configure.fields import (
    Form,
    bound_choice,
    make_field_store,
    make_spec_store,
    show_parameter_field,
    show_plain_field,
)
from pages._ui.configure.findings import SIGNS, name_field, show_field_findings
from pages._ui.configure.software import show_software
from pages._ui.region.picker import show_directory_picker, show_engine_picker, show_image_picker, show_pool_picker
from pages._ui.shell import widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.numbers import describe_field
from pages._ui.shell.words import t

MAX_RESUMABLE = 50  # runs that are offered to go on from; others can be typed into the YAML
MOST_SAID = 2  # values that a label names; of more it says how many there are
MOST_LETTERS = 28  # of a value in a label

# What is folded takes no part in layout.
STYLE = """<style>
    [data-testid="stExpander"] details:not([open]) > [data-testid="stExpanderDetails"] { display: none; }
</style>"""

CODE = ("code_dir", "boot_file")


@dataclass(frozen=True, slots=True)
class Fold:
    """A subject. `fields`: those of the spec that belong to it, by their dotted names or what holds them."""

    name: str
    title: str
    fields: Sequence[str]
    show: Callable[[Form], None]

    def holds(self, field: str) -> bool:
        """Whether this field, or a part of it, is in the fold."""
        return any(field == own or field.startswith(f"{own}.") for own in self.fields)


def show_folds(form: Form) -> None:
    """Every subject; one in which something is wrong, or was changed just now, is open."""
    st.html(STYLE)
    for fold in _list_folds(form):
        values = list_set_values(form, fold)
        label = f"{fold.title} · {_summarize_values(values)}" if values else fold.title
        worst = _find_worst(form.findings, fold)
        icon = SIGNS[worst][0] if worst else None
        with st.expander(label, _is_open(fold, values, is_wrong=worst is not None), icon=icon):
            fold.show(form)


def _list_folds(form: Form) -> list[Fold]:
    main = form.edition.main_parameters
    others = [f"parameters.{name}" for name in (*form.edition.parameters, *form.spec.parameters) if name not in main]
    code = () if needs_code(form) else CODE
    folds = [
        Fold("parameters", t("configure.more_parameters"), tuple(dict.fromkeys(others)), _show_other_parameters),
        Fold("placement", t("configure.placement"), list_form_fields(FormGroup.PLACEMENT), _show_placement),
        Fold("container", t("configure.container"), (*code, *list_form_fields(FormGroup.CONTAINER)), _show_container),
        Fold("software", t("software.title"), ("update", "log_levels"), show_software),
        Fold("limits", t("configure.limits"), _RECOVERY, _show_recovery),
        Fold("labels", t("configure.labels"), list_form_fields(FormGroup.LABELS), _show_labels),
    ]
    return [fold for fold in folds if fold.fields]


_RECOVERY = (
    *list_form_fields(FormGroup.LIMITS),
    *list_form_fields(FormGroup.RECOVERY),
    *("resume_from", "outputs"),
)


def list_set_values(form: Form, fold: Fold) -> tuple[tuple[str, object], ...]:
    """The fields of a fold that differ from what they are if nobody sets them, with their values."""
    unset = {name: definition.default for name, definition in form.edition.parameters.items()}
    before = RunSpec(workload=form.spec.workload, parameters=unset)
    now = form.spec.model_copy(update={"parameters": {**unset, **form.spec.parameters}})
    changed = ((each.field, each.now) for each in find_differences(before, now) if fold.holds(each.field))
    typed = ((field, text) for field, text in form.refused.items() if fold.holds(field))
    return (*((field, value) for field, value in changed if value is not None), *typed)


def _summarize_values(values: Sequence[tuple[str, object]]) -> str:
    if len(values) > MOST_SAID:
        return t("configure.set_count", count=len(values))
    return ", ".join(f"{name_field(field)} {escape_markdown(_format_value(value))}" for field, value in values)


def _format_value(value: object) -> str:
    return clip_text(str(value).lower() if isinstance(value, bool) else str(value), MOST_LETTERS)


def _find_worst(findings: Sequence[Finding], fold: Fold) -> Level | None:
    levels = {finding.level for finding in findings if fold.holds(finding.field)}
    return next((level for level in (Level.ERROR, Level.WARNING) if level in levels), None)


def _is_open(fold: Fold, values: Sequence[tuple[str, object]], *, is_wrong: bool) -> bool:
    """A fold stays open once it was opened so: a label that changes closes it in the browser, unless it is to be open.

    So does one whose values have changed since it was drawn, as somebody is typing in it."""
    slot, key = f"fold.{fold.name}", drafts.draft_key()
    before, shown, was_open = st.session_state.get(slot, ("", (), False))
    is_open: bool = is_wrong or (before == key and (was_open or shown != values))
    st.session_state[slot] = (key, values, is_open)
    return is_open


# --- the subjects -----------------------------------------------------------------------------------


def show_parameter_fields(form: Form, names: Sequence[str]) -> None:
    """One widget per hyperparameter, in two columns."""
    for start in range(0, len(names), 2):
        for column, name in zip(st.columns(2), names[start : start + 2], strict=False):
            with column:
                show_parameter_field(form, name, form.edition.parameters[name])


def _show_other_parameters(form: Form) -> None:
    main = form.edition.main_parameters
    show_parameter_fields(form, [name for name in form.edition.parameters if name not in main])
    for name, value in form.spec.parameters.items():
        if name in form.edition.parameters:
            continue
        texts = {"name": escape_markdown(name), "value": escape_markdown(str(value))}
        st.markdown(t("configure.unknown_parameter", **texts))
        if name in form.comments:
            st.caption(escape_markdown(form.comments[name]))
        show_field_findings(form.findings, f"parameters.{name}")


def _show_placement(form: Form) -> None:
    left, right = st.columns(2)
    with left:
        show_plain_field(form, "cards_per_node")
        show_plain_field(form, "mode")
    with right:
        show_plain_field(form, "pool_id")
        show_pool_picker(form.profile, make_field_store("pool_id"))
        show_plain_field(form, "priority")


def needs_code(form: Form) -> bool:
    """Whether the run cannot start without a person's own code or image, so that the fields are never folded."""
    return not form.workload.ships_code


def show_code(form: Form) -> None:
    """Where the training code is, and how it starts."""
    for column, field in zip(st.columns(2), CODE, strict=True):
        with column:
            show_plain_field(form, field)


def _show_container(form: Form) -> None:
    if not needs_code(form):
        show_code(form)
    fields = list_form_fields(FormGroup.CONTAINER)
    half = -(-len(fields) // 2)
    for column, part in zip(st.columns(2), (fields[:half], fields[half:]), strict=True):
        with column:
            for field in part:
                show_plain_field(form, field)
                if field == "engine_version":
                    show_engine_picker(form.profile, make_spec_store(_with_engine))
                elif field == "image_url":
                    show_image_picker(form.profile, make_field_store("image_url"))


def _with_engine(spec: RunSpec, engine: tuple[str, str]) -> RunSpec:
    name, version = engine
    return spec.model_copy(update={"engine_name": name, "engine_version": version})


def _show_recovery(form: Form) -> None:
    """When the job is ended, what happens at a fault, and from which run it goes on."""
    left, right = st.columns(2)
    with left:
        for field in list_form_fields(FormGroup.LIMITS):
            show_plain_field(form, field)
    with right:
        for field in list_form_fields(FormGroup.RECOVERY):
            show_plain_field(form, field)
        _show_prefetch(form)
    _show_resumed_run(form)


def _show_resumed_run(form: Form) -> None:
    """A choice of the newest runs of the workload that have ended, and of the one that the draft names."""
    ended = core().ledger.page(TERMINAL, workload=form.spec.workload, limit=MAX_RESUMABLE)
    titles = {"": t("configure.from_start")}
    resumable = [run for run in ended if run.job_id]
    titles |= {run_id: escape_markdown(title) for run_id, title in cards.run_titles(resumable).items()}
    titles.setdefault(form.spec.resume_from, form.spec.resume_from)
    choice = bound_choice("resume_from", list(titles), form.spec.resume_from, titles.__getitem__)
    with describe_field(choice["key"], t("field.resume_from_help")):
        st.selectbox(t("field.resume_from"), **choice)
    show_field_findings(form.findings, "resume_from")


def _show_prefetch(form: Form) -> None:
    """A job that is restarted finds its own checkpoints in its output directories only if they are downloaded."""
    outputs = form.filled.outputs
    store = make_spec_store(lambda spec, on: drafts.with_prefetch(spec, outputs, prefetch=on))
    requested = any(channel.prefetch for channel in outputs)
    bound = widgets.bind_field("spec.outputs.prefetch", requested, store)
    with describe_field(bound["key"], t("field.prefetch_help")):
        st.toggle(t("field.prefetch"), **bound)
    show_field_findings(form.findings, "outputs", *(f"outputs.{channel.name}" for channel in outputs))


def _show_labels(form: Form) -> None:
    for field in list_form_fields(FormGroup.LABELS):
        show_plain_field(form, field)
    show_directory_picker("log_path", form.filled.log_path, form.profile, make_field_store("log_path"))
