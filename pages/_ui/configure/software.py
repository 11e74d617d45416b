"""The form's part about CANN and MindSpore: what is installed over the image's own, and how much both log."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.model import CannLevel, MindSporeLevel, Update
from pages._ui.configure.fields import Form, bound_choice
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain
from pages._ui.shell.findings import show_field_findings
from pages._ui.shell.words import words

SWITCH: Mapping[bool, str] = {False: "software.off", True: "software.on"}


def show_software(form: Form) -> None:
    """Packages to install, and log levels by their names."""
    t = words()
    for field in Update.model_fields:
        _package(form, field)
    st.caption(t("software.shelf", folder=plain(str(core().software.folder))))
    left, right = st.columns(2)
    with left:
        _level(form, "cann", [level.value for level in CannLevel])
        _switch(form, "events")
    with right:
        _level(form, "mindspore", [level.value for level in MindSporeLevel])
        _switch(form, "stdout")
    show_field_findings(form.findings, "log_levels")
    st.caption(t("software.script"))


def _package(form: Form, field: str) -> None:
    """One of those that lie ready, or the path of any other that is typed."""
    t = words()
    path = getattr(form.spec.update, field)
    titles = {"": t("software.image")}
    titles |= {offered: f"{package} ({package.name})" for offered, package in core().software.offered(field)}
    titles.setdefault(path, path)
    st.selectbox(
        t(f"field.update.{field}"),
        help=t(f"field.update.{field}_help"),
        placeholder=t("software.image"),
        accept_new_options=True,
        **bound_choice(f"update.{field}", list(titles), path, lambda each: titles.get(each, each), others=True),
    )
    show_field_findings(form.findings, f"update.{field}")


def _level(form: Form, field: str, names: Sequence[str]) -> None:
    t = words()
    numbered = {name: f"{t(f'level_name.{name}')} ({number})" for number, name in enumerate(names)}
    _choice(form, field, names, numbered)


def _switch(form: Form, field: str) -> None:
    t = words()
    _choice(form, field, list(SWITCH), {each: t(name) for each, name in SWITCH.items()})


def _choice(form: Form, field: str, options: Sequence[Any], titles: Mapping[Any, str]) -> None:
    """One of the options, or what the image has."""
    t = words()
    st.selectbox(
        t(f"field.log_levels.{field}"),
        help=t(f"field.log_levels.{field}_help"),
        placeholder=t("software.image"),
        **bound_choice(
            f"log_levels.{field}",
            [None, *options],
            getattr(form.spec.log_levels, field),
            lambda each: t("software.image") if each is None else titles[each],
        ),
    )
    show_field_findings(form.findings, f"log_levels.{field}")
