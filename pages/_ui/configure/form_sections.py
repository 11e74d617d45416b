"""A workload's manifest as a form, in sections."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from aisbench_core.model import Channel, Mode, RunSpec
from pages._ui.configure import drafts
from pages._ui.configure.drafts import input_channels
from pages._ui.configure.fields import SPEED, Form, changing, choice_field, number_field, parameter, text_field
from pages._ui.shell import widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain
from pages._ui.shell.findings import show_field_findings
from pages._ui.shell.words import words


def show_workload(form: Form) -> None:
    """Which workload, in which framework version, and what it is."""
    t = words()
    titles = {
        workload.name: f"{t.pick(workload.title, workload.title_zh)} ({workload.name})"
        for workload in core().workloads.all()
    }
    own = widgets.single_choice(
        "spec.workload", list(titles), form.spec.workload, changing(drafts.with_workload), titles.__getitem__
    )
    st.selectbox(t("field.workload"), **own)
    label = t("field.version_of", framework=plain(form.workload.framework))
    versions = list(form.workload.versions)
    own = widgets.single_choice("spec.framework_version", versions, form.edition.version, changing(_version))
    st.selectbox(label, width=240, **own)
    st.markdown(plain(t.pick(form.workload.summary, form.workload.summary_zh)))
    show_field_findings(form.findings, "workload", "framework_version")


def show_size(form: Form) -> None:
    """How many nodes and cards, of which kind, working together how."""
    t = words()
    if form.flavors_missing:
        st.caption(t("configure.no_flavors", reason=plain(form.flavors_missing)))
    left, right = st.columns([2, 3])
    with left:
        number_field(form, "node_count")
    with right:
        _flavor(form)
    left, middle, right = st.columns(3)
    with left:
        number_field(form, "cards_per_node")
    with middle:
        choice_field(form, "mode", list(Mode), {mode: t(f"mode.{mode}") for mode in Mode})
    with right:
        text_field(form, "pool_id")


def show_inputs(form: Form) -> None:
    """Where each input's data lies in OBS."""
    for channel in input_channels(form.workload, form.filled):
        _input(form, channel)
    show_field_findings(form.findings, "inputs")


def show_parameters(form: Form) -> None:
    """One widget per hyperparameter, in two columns."""
    t = words()
    columns = st.columns(2)
    for index, (name, asked) in enumerate(form.edition.parameters.items()):
        with columns[index % 2]:
            parameter(form, name, asked)
    unknown = [name for name in form.spec.parameters if name not in form.edition.parameters]
    for name in unknown:
        st.markdown(t("configure.unknown_parameter", name=plain(name), value=plain(str(form.spec.parameters[name]))))
        if name in form.comments:
            st.caption(plain(form.comments[name]))
        show_field_findings(form.findings, f"parameters.{name}")
    if any(asked.decides_speed for asked in form.edition.parameters.values()):
        st.caption(t("configure.speed_legend", mark=SPEED))


def show_more(form: Form) -> None:
    """What most runs leave alone: names, code, image, limits."""
    left, right = st.columns(2)
    with left:
        for field in ("name", "description", "code_dir", "boot_file", "log_path"):
            text_field(form, field)
    with right:
        for field in ("engine_name", "engine_version", "image_url", "command"):
            text_field(form, field)
    left, middle, right = st.columns(3)
    with left:
        number_field(form, "priority")
    with middle:
        number_field(form, "retries")
    with right:
        number_field(form, "auto_stop_hours")


def _flavor(form: Form) -> None:
    t = words()
    titles = {"": t("configure.profile_flavor", flavor=form.own_flavor or "–")}
    titles |= {
        flavor.flavor_id: t("configure.flavor", flavor=flavor.flavor_id, kind=flavor.accelerator, cards=flavor.cards)
        for flavor in form.flavors
        if flavor.cards is not None
    }
    for name in (*(flavor.flavor_id for flavor in form.flavors), form.spec.flavor):
        titles.setdefault(name, name)
    cards = {flavor.flavor_id: flavor.cards for flavor in form.flavors if flavor.cards is not None}
    store = changing(partial(_flavor_with_cards, cards))
    own = widgets.single_choice("spec.flavor", list(titles), form.spec.flavor, store, titles.__getitem__)
    st.selectbox(t("field.flavor"), help=t("field.flavor_help"), **own)
    show_field_findings(form.findings, "flavor")


def _input(form: Form, channel: Channel) -> None:
    t = words()
    dataset = form.workload.dataset
    entries = ", ".join(dataset.required) or "–"
    field = f"inputs.{channel.name}"
    st.text_input(
        t("field.input_optional" if dataset.optional else "field.input", name=channel.name),
        help=t("field.input_help", dataset=plain(dataset.name), entries=plain(entries)),
        placeholder="/bucket/directory/",
        live=True,
        **widgets.field(f"spec.{field}", channel.path, changing(partial(_input_at, channel.name))),
    )
    show_field_findings(form.findings, field)


def _input_at(name: str, spec: RunSpec, path: str) -> RunSpec:
    return drafts.with_input(spec, core().workloads.get(spec.workload), name, path)


def _flavor_with_cards(cards: Mapping[str, int], spec: RunSpec, flavor: str) -> RunSpec:
    """A flavor is taken with all its cards; fewer can be asked for afterwards."""
    return spec.model_copy(update={"flavor": flavor, "cards_per_node": cards.get(flavor, spec.cards_per_node)})


def _version(spec: RunSpec, version: str) -> RunSpec:
    return drafts.with_version(spec, core().workloads.get(spec.workload), version)
