"""A draft as a form: what most runs set is open, the rest is folded by subject."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.access.server_files import closed_files
from aisbench_core.domain.authoring.specfile import WrittenSpec, comments_of
from aisbench_core.model import Channel, Finding, Level, RunSpec
from pages._ui.configure import drafts
from pages._ui.configure.fields import PROBLEM, Form, make_spec_store, show_plain_field
from pages._ui.configure.findings import mark_fields, show_field_findings
from pages._ui.configure.first_draft import list_flavors
from pages._ui.configure.folds import needs_code, show_code, show_folds, show_parameter_fields
from pages._ui.region.picker import show_directory_picker
from pages._ui.shell import widgets
from pages._ui.shell.core import actor, core
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.numbers import describe_field
from pages._ui.shell.words import t


def read_form(draft: drafts.SpecDraft, profile: str) -> tuple[Form | None, AisbenchError | None]:
    """What the form shows, or why there is none."""
    try:
        form = _build_form(draft, draft.written, profile) if draft.written else None
    except AisbenchError as error:
        return None, error
    return form, None if form else draft.problem


def show_way_out() -> None:
    """What to do with a draft that is no valid spec."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(t("configure.invalid"))
        st.button(t("configure.discard"), key="discard", icon=":material/restart_alt:", on_click=drafts.discard_draft)


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


def show_draft_form(form: Form) -> None:
    refused = st.session_state.pop(PROBLEM, None)
    if refused:
        show_error(refused)
    mark_fields(form.findings)
    _show_workload(form)
    _show_size(form)
    for channel in drafts.input_channels(form.workload, form.filled):
        _show_input(form, channel)
    show_field_findings(form.findings, "inputs")
    if needs_code(form):
        show_code(form)
    show_parameter_fields(form, form.edition.main_parameters)
    show_folds(form)


def _show_workload(form: Form) -> None:
    left, right = st.columns([5, 3])
    titles = workload_titles()
    store = make_spec_store(drafts.with_workload)
    choice = widgets.single_choice("spec.workload", list(titles), form.spec.workload, store, titles.__getitem__)
    with left, describe_field(choice["key"], t.pick(form.workload.summary, form.workload.summary_zh)):
        st.selectbox(t("field.workload"), **choice)
    label = t("field.version_of", framework=escape_markdown(form.workload.framework))
    store = make_spec_store(_change_version)
    versions = list(form.workload.versions)
    choice = widgets.single_choice("spec.framework_version", versions, form.edition.version, store)
    with right, describe_field(choice["key"], ""):
        st.selectbox(label, **choice)
    show_field_findings(form.findings, "workload", "framework_version")


def _show_size(form: Form) -> None:
    left, right = st.columns([5, 3])
    with left:
        _show_flavor(form)
    with right:
        show_plain_field(form, "node_count")


def workload_titles() -> dict[str, str]:
    """The titles of all workloads, by name."""
    return {
        workload.name: f"{t.pick(workload.title, workload.title_zh)} ({workload.name})"
        for workload in core().workloads.all()
    }


def _change_version(spec: RunSpec, version: str) -> RunSpec:
    return drafts.with_version(spec, core().workloads.get(spec.workload), version)


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
    with describe_field(choice["key"], t("field.flavor_help")):
        st.selectbox(t("field.flavor"), **choice)
    show_field_findings(form.findings, "flavor")


def _with_flavor(cards: Mapping[str, int], spec: RunSpec, flavor: str) -> RunSpec:
    """With all cards of the flavor; a person may ask for fewer afterwards."""
    return spec.model_copy(update={"flavor": flavor, "cards_per_node": cards.get(flavor, spec.cards_per_node)})


def _show_input(form: Form, channel: Channel) -> None:
    dataset = form.workload.dataset
    field = f"inputs.{channel.name}"
    about = t("field.input_help", dataset=dataset.name, entries=", ".join(dataset.required) or "–")
    store = make_spec_store(partial(_with_input, channel.name))
    bound = widgets.bind_field(f"spec.{field}", channel.path, store)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with describe_field(bound["key"], about):
            st.text_input(
                t("field.input_optional" if dataset.optional else "field.input", name=channel.name),
                placeholder="/bucket/directory/",
                live=True,
                **bound,
            )
        show_directory_picker(field, channel.path, form.profile, store)
    show_field_findings(form.findings, field)


def _with_input(name: str, spec: RunSpec, path: str) -> RunSpec:
    return drafts.with_input(spec, core().workloads.get(spec.workload), name, path)
