"""The form's part about CANN and MindSpore: packages to install over the image's own, and log levels."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from aisbench_core.model import CannLevel, MindSporeLevel, Update
from pages._ui.configure.fields import Form, bound_choice
from pages._ui.configure.findings import show_field_findings
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.numbers import describe_field
from pages._ui.shell.words import t


def show_software(form: Form) -> None:
    for field in Update.model_fields:
        _show_package(form, field)
    st.caption(t("software.folder", folder=escape_markdown(str(core().software.folder))))
    left, right = st.columns(2)
    switch = {False: t("software.off"), True: t("software.on")}
    with left:
        _log_level(form, "cann", _number_levels([level.value for level in CannLevel]))
        _log_level(form, "events", switch)
    with right:
        _log_level(form, "mindspore", _number_levels([level.value for level in MindSporeLevel]))
        _log_level(form, "stdout", switch)
    show_field_findings(form.findings, "log_levels")
    st.caption(t("software.script"))


def _show_package(form: Form, field: str) -> None:
    """One of the packages in the folder, or the path of any other."""
    path = getattr(form.spec.update, field)
    titles = {"": t("software.image")}
    titles |= {offered: f"{package} ({package.name})" for offered, package in core().software.list_offered(field)}
    titles.setdefault(path, path)
    choice = bound_choice(f"update.{field}", list(titles), path, titles.__getitem__, any_value=True)
    with describe_field(choice["key"], t(f"field.update.{field}_help")):
        st.selectbox(t(f"field.update.{field}"), placeholder=t("software.image"), accept_new_options=True, **choice)
    show_field_findings(form.findings, f"update.{field}")


def _number_levels(names: list[str]) -> dict[str, str]:
    """Levels with the numbers that the environment variables have for them."""
    return {name: f"{t(f'level_name.{name}')} ({number})" for number, name in enumerate(names)}


def _log_level(form: Form, field: str, titles: Mapping[Any, str]) -> None:
    """One of the levels; None: as in the image."""
    value, image = getattr(form.spec.log_levels, field), t("software.image")
    choice = bound_choice(f"log_levels.{field}", [None, *titles], value, lambda level: titles.get(level, image))
    with describe_field(choice["key"], t(f"field.log_levels.{field}_help")):
        st.selectbox(t(f"field.log_levels.{field}"), placeholder=image, **choice)
    show_field_findings(form.findings, f"log_levels.{field}")
