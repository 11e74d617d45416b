"""A draft as a form, in sections, and as YAML."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.access.server_files import closed_files
from aisbench_core.domain.authoring.specfile import WrittenSpec, comments_of
from aisbench_core.model import TERMINAL, Channel, Finding, Level, RunSpec
from aisbench_core.model.spec_fields import list_form_fields
from aisbench_core.model.spec_roles import FormGroup
from pages._ui.cards import run_cards as cards
from pages._ui.configure import drafts
from pages._ui.configure.fields import (
    PROBLEM,
    SPEED,
    Form,
    bound_choice,
    is_switch,
    make_field_store,
    make_spec_store,
    show_parameter_field,
    show_plain_field,
)
from pages._ui.configure.findings import show_field_findings
from pages._ui.configure.first_draft import list_flavors
from pages._ui.configure.software import show_software
from pages._ui.region.picker import show_directory_picker, show_engine_picker, show_image_picker, show_pool_picker
from pages._ui.shell import widgets
from pages._ui.shell.core import actor, core
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.words import t

MAX_RESUMABLE = 50  # runs that are offered to go on from; others can be typed into the YAML


def read_form(draft: drafts.SpecDraft, profile: str) -> Form | None:
    """What the form shows; None, with an error on the page, for a draft that is no valid spec."""
    problem = draft.problem
    try:
        form = _build_form(draft, draft.written, profile) if draft.written else None
    except AisbenchError as error:
        form, problem = None, error
    if problem and form is None:
        show_error(problem)
        st.info(t("configure.invalid"), icon=":material/edit:")
        st.button(t("configure.discard"), key="discard", icon=":material/restart_alt:", on_click=drafts.discard_draft)
    return form


def _build_form(draft: drafts.SpecDraft, written: WrittenSpec, profile: str) -> Form:
    spec = written.spec
    workload = core().workloads.get(spec.workload)
    flavors, reason = list_flavors(profile) if profile else ((), "")
    return Form(
        spec=spec,
        refused=written.refused,
        filled=core().workloads.fill_spec(spec),
        workload=workload,
        edition=workload.edition(spec.framework_version),
        findings=(*_list_refusals(written), *(_list_findings(spec, profile) if profile else ())),
        profile=profile,
        flavors=flavors,
        flavors_missing=reason,
        own_flavor=core().regions.profile(profile).flavor if profile else "",
        comments=comments_of(draft.text),
    )


def _list_refusals(written: WrittenSpec) -> Iterator[Finding]:
    for field, problem in written.problems.items():
        yield Finding("number", Level.ERROR, field, problem)


def _list_findings(spec: RunSpec, profile: str) -> Sequence[Finding]:
    """What preflight finds without the region; only that, where the person may not read files that the spec names."""
    return closed_files(spec, actor(), core().runs.open_folders) or core().preflight.offline(spec, profile)


def show_yaml(draft: drafts.SpecDraft) -> None:
    """The draft as YAML; the form shows what is typed here, and the other way round."""
    store = partial(drafts.store_text, key=drafts.draft_key())
    field = widgets.bind_field("spec.yaml", draft.text, store)
    st.text_area(t("configure.yaml"), height=480, help=t("configure.yaml_help"), **field)


def show_draft_form(form: Form) -> None:
    refused = st.session_state.pop(PROBLEM, None)
    if refused:
        show_error(refused)
    _show_workload(form)
    st.header(t("configure.size"))
    _show_resources(form)
    st.header(t("configure.inputs"))
    for channel in drafts.input_channels(form.workload, form.filled):
        _show_input(form, channel)
    show_field_findings(form.findings, "inputs")
    if _needs_code(form):
        st.header(t("configure.code"))
        _show_code(form)
    st.header(t("configure.parameters"))
    _show_parameters(form)
    with st.expander(t("software.title")):
        show_software(form)
    with st.expander(t("configure.more")):
        _show_more(form)


def _show_workload(form: Form) -> None:
    titles = workload_titles()
    store = make_spec_store(drafts.with_workload)
    choice = widgets.single_choice("spec.workload", list(titles), form.spec.workload, store, titles.__getitem__)
    st.selectbox(t("field.workload"), **choice)
    label, versions = (
        t("field.version_of", framework=escape_markdown(form.workload.framework)),
        list(form.workload.versions),
    )
    choice = widgets.single_choice(
        "spec.framework_version", versions, form.edition.version, make_spec_store(_change_version)
    )
    st.selectbox(label, width=240, **choice)
    st.markdown(escape_markdown(t.pick(form.workload.summary, form.workload.summary_zh)))
    show_field_findings(form.findings, "workload", "framework_version")


def workload_titles() -> dict[str, str]:
    """The titles of all workloads, by name."""
    return {
        workload.name: f"{t.pick(workload.title, workload.title_zh)} ({workload.name})"
        for workload in core().workloads.all()
    }


def _change_version(spec: RunSpec, version: str) -> RunSpec:
    return drafts.with_version(spec, core().workloads.get(spec.workload), version)


def _show_resources(form: Form) -> None:
    if form.flavors_missing:
        st.caption(t("configure.no_flavors", reason=escape_markdown(form.flavors_missing)))
    left, right = st.columns([2, 3])
    with left:
        show_plain_field(form, "node_count")
    with right:
        _show_flavor(form)
    left, middle, right = st.columns(3)
    with left:
        show_plain_field(form, "cards_per_node")
    with middle:
        show_plain_field(form, "mode")
    with right:
        show_plain_field(form, "pool_id")
        show_pool_picker(form.profile, make_field_store("pool_id"))


def _show_flavor(form: Form) -> None:
    cards = {flavor.flavor_id: flavor.cards for flavor in form.flavors if flavor.cards is not None}
    titles = {"": t("configure.profile_flavor", flavor=form.own_flavor or "–")}
    for flavor in form.flavors:
        name = flavor.flavor_id
        kind = {"kind": flavor.accelerator, "cards": flavor.cards}
        titles[name] = t("configure.flavor", flavor=name, **kind) if name in cards else name
    titles.setdefault(form.spec.flavor, form.spec.flavor)  # one that the region does not list
    store = make_spec_store(partial(_with_flavor, cards))
    choice = widgets.single_choice("spec.flavor", list(titles), form.spec.flavor, store, titles.__getitem__)
    st.selectbox(t("field.flavor"), help=t("field.flavor_help"), **choice)
    show_field_findings(form.findings, "flavor")


def _with_flavor(cards: Mapping[str, int], spec: RunSpec, flavor: str) -> RunSpec:
    """With all cards of the flavor; a person may ask for fewer afterwards."""
    return spec.model_copy(update={"flavor": flavor, "cards_per_node": cards.get(flavor, spec.cards_per_node)})


def _show_input(form: Form, channel: Channel) -> None:
    dataset = form.workload.dataset
    field = f"inputs.{channel.name}"
    entries = ", ".join(dataset.required) or "–"
    store = make_spec_store(partial(_with_input, channel.name))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            t("field.input_optional" if dataset.optional else "field.input", name=channel.name),
            help=t("field.input_help", dataset=escape_markdown(dataset.name), entries=escape_markdown(entries)),
            placeholder="/bucket/directory/",
            live=True,
            **widgets.bind_field(f"spec.{field}", channel.path, store),
        )
        show_directory_picker(field, channel.path, form.profile, store)
    show_field_findings(form.findings, field)


def _with_input(name: str, spec: RunSpec, path: str) -> RunSpec:
    return drafts.with_input(spec, core().workloads.get(spec.workload), name, path)


def _show_parameters(form: Form) -> None:
    """One widget per hyperparameter, in two columns."""
    parameters = form.edition.parameters
    columns = st.columns(2)
    for index, (name, definition) in enumerate(parameters.items()):
        with columns[index % 2]:
            show_parameter_field(form, name, definition)
    for name in form.spec.parameters:
        if name in parameters:
            continue
        st.markdown(
            t(
                "configure.unknown_parameter",
                name=escape_markdown(name),
                value=escape_markdown(str(form.spec.parameters[name])),
            )
        )
        if name in form.comments:
            st.caption(escape_markdown(form.comments[name]))
        show_field_findings(form.findings, f"parameters.{name}")
    if any(definition.decides_speed for definition in parameters.values()):
        st.caption(t("configure.speed_legend", mark=SPEED))


def _needs_code(form: Form) -> bool:
    """Whether the run cannot start without a person's own code or image, so that the fields are never folded."""
    return not form.workload.ships_code


def _show_code(form: Form) -> None:
    left, right = st.columns(2)
    with left:
        show_plain_field(form, "code_dir")
    with right:
        show_plain_field(form, "boot_file")


def _show_more(form: Form) -> None:
    """What most runs leave alone."""
    if not _needs_code(form):
        _show_code(form)
    left, right = st.columns(2)
    with left:
        for field in list_form_fields(FormGroup.LABELS):
            show_plain_field(form, field)
        show_directory_picker("log_path", form.filled.log_path, form.profile, make_field_store("log_path"))
    with right:
        for field in list_form_fields(FormGroup.CONTAINER):
            show_plain_field(form, field)
            if field == "engine_version":
                show_engine_picker(form.profile, make_spec_store(_with_engine))
            elif field == "image_url":
                show_image_picker(form.profile, make_field_store("image_url"))
    limits = list_form_fields(FormGroup.LIMITS)
    for column, field in zip(st.columns(len(limits)), limits, strict=True):
        with column:
            show_plain_field(form, field)
    _show_recovery(form)


def _with_engine(spec: RunSpec, engine: tuple[str, str]) -> RunSpec:
    name, version = engine
    return spec.model_copy(update={"engine_name": name, "engine_version": version})


def _show_recovery(form: Form) -> None:
    """What happens at a fault, what is recorded for its diagnosis, and from which run the job goes on."""
    _show_resumed_run(form)
    fields = list_form_fields(FormGroup.RECOVERY)
    switches = [field for field in fields if is_switch(field)]
    others = [field for field in fields if field not in switches]
    first, *rest = st.columns(1 + len(others))
    with first:
        for field in switches:
            show_plain_field(form, field)
        _show_prefetch(form)
    for column, field in zip(rest, others, strict=True):
        with column:
            show_plain_field(form, field)


def _show_resumed_run(form: Form) -> None:
    """A choice of the newest runs of the workload that have ended, and of the one that the draft names."""
    ended = core().ledger.page(TERMINAL, workload=form.spec.workload, limit=MAX_RESUMABLE)
    titles = {"": t("configure.from_start")}
    resumable = [run for run in ended if run.job_id]
    titles |= {run_id: escape_markdown(title) for run_id, title in cards.run_titles(resumable).items()}
    titles.setdefault(form.spec.resume_from, form.spec.resume_from)
    choice = bound_choice("resume_from", list(titles), form.spec.resume_from, titles.__getitem__)
    st.selectbox(t("field.resume_from"), help=t("field.resume_from_help"), **choice)
    show_field_findings(form.findings, "resume_from")


def _show_prefetch(form: Form) -> None:
    """A job that is restarted finds its own checkpoints in its output directories only if they are downloaded."""
    outputs = form.filled.outputs
    store = make_spec_store(lambda spec, on: drafts.with_prefetch(spec, outputs, prefetch=on))
    requested = any(channel.prefetch for channel in outputs)
    st.toggle(
        t("field.prefetch"),
        help=t("field.prefetch_help"),
        **widgets.bind_field("spec.outputs.prefetch", requested, store),
    )
    show_field_findings(form.findings, "outputs", *(f"outputs.{channel.name}" for channel in outputs))
