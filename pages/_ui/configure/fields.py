"""The form's widgets: each shows one field of the draft, stores changes at once, and has its findings below it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import EnumType
from functools import partial
from typing import Any

import streamlit as st

from aisbench_core.base.errors import SpecError
from aisbench_core.domain.authoring.manifest import Parameter, ParameterType
from aisbench_core.domain.authoring.number_ranges import InvalidNumber, NumberRange
from aisbench_core.domain.authoring.specfile import NUMBERS
from aisbench_core.domain.authoring.workloads import Edition, Workload
from aisbench_core.model import Finding, Flavor, RunSpec, Scalar
from pages._ui.configure import drafts
from pages._ui.configure.findings import show_field_findings
from pages._ui.shell import numbers, widgets
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.numbers import describe_field
from pages._ui.shell.words import t

SPEED = "†"  # marks parameters that affect speed
PROBLEM = "form-problem"  # where the session has the error of a refused change until it is shown


@dataclass(frozen=True, slots=True)
class Form:
    """What the widgets show: the draft's spec, also with the manifest's defaults filled in, and its findings.

    `refused`: what is typed for numbers that the spec does not take, by field; the spec has their defaults.
    `profile` is the name of the profile, empty if there is none. `flavors` are the region's, `flavors_missing` says why
    there are none, `own_flavor` is the profile's; `comments` stand above parameters in the draft."""

    spec: RunSpec
    refused: Mapping[str, str]
    filled: RunSpec
    workload: Workload
    edition: Edition
    findings: Sequence[Finding]
    profile: str
    flavors: Sequence[Flavor]
    flavors_missing: str
    own_flavor: str
    comments: Mapping[str, str]


def show_plain_field(form: Form, field: str) -> None:
    """A field with one value, as the widget for its type."""
    if field in NUMBERS:
        _number_field(form, field)
    elif is_switch(field):
        _switch_field(form, field)
    elif choices := list_choices(field):
        _choice_field(form, field, {value: t(f"{field}.{name}") for value, name in choices.items()})
    else:
        _text_field(form, field)


def is_switch(field: str) -> bool:
    """Whether a field of the spec is on or off."""
    return RunSpec.model_fields[field].annotation is bool


def list_choices(field: str) -> dict[Any, str]:
    """The values that a field of the spec can have, with the names that texts have for them; empty if it is free."""
    annotation = RunSpec.model_fields[field].annotation
    if annotation == (bool | None):
        return {None: "default", True: "on", False: "off"}
    return {value: value.value for value in annotation} if isinstance(annotation, EnumType) else {}


def _text_field(form: Form, field: str) -> None:
    own, answered = getattr(form.spec, field), getattr(form.filled, field)
    bound = bound_field(field, own)
    with describe_field(bound["key"], t(f"field.{field}_help")):
        st.text_input(t(f"field.{field}"), placeholder="" if own else answered, live=True, **bound)
    show_field_findings(form.findings, field)


def _number_field(form: Form, field: str) -> None:
    """A field for a whole number, or empty where the spec allows that."""
    value = form.refused.get(field, numbers.text_of(getattr(form.spec, field)))
    bound = widgets.bind_field(f"spec.{field}", value, partial(drafts.enter_number, drafts.draft_key(), field))
    numbers.show_number_field(t(f"field.{field}"), NUMBERS[field], help_text=t(f"field.{field}_help"), **bound)
    show_field_findings(form.findings, field)


def _choice_field(form: Form, field: str, titles: Mapping[Any, str]) -> None:
    choice = bound_choice(field, list(titles), getattr(form.spec, field), titles.__getitem__)
    with describe_field(choice["key"], t(f"field.{field}_help")):
        st.selectbox(t(f"field.{field}"), **choice)
    show_field_findings(form.findings, field)


def _switch_field(form: Form, field: str) -> None:
    bound = bound_field(field, getattr(form.spec, field))
    with describe_field(bound["key"], t(f"field.{field}_help")):
        st.toggle(t(f"field.{field}"), **bound)
    show_field_findings(form.findings, field)


def show_parameter_field(form: Form, name: str, parameter: Parameter) -> None:
    """A hyperparameter, as the widget for its type; a value that the widget cannot hold as text."""
    field = f"parameters.{name}"
    value = form.filled.parameters[name]
    unit = t.pick(parameter.unit, parameter.unit_zh)
    label = " ".join(
        filter(None, (name, f"({escape_markdown(unit)})" if unit else "", SPEED if parameter.decides_speed else ""))
    )
    widget, arguments = _choose_widget(field, value, parameter)
    with describe_field(arguments["key"], _describe_parameter(parameter), parameter.number_range):
        widget(label, **arguments)
    show_field_findings(form.findings, field)


def _choose_widget(field: str, value: Scalar, parameter: Parameter) -> tuple[Callable[..., Any], dict[str, Any]]:
    if parameter.number_range:
        store = make_spec_store(lambda spec, text: drafts.with_field(spec, field, _parse_number(text, parameter.type)))
        return st.text_input, widgets.bind_field(f"spec.{field}", numbers.text_of(value), store)
    if parameter.problem(value):
        store = make_spec_store(lambda spec, text: drafts.with_field(spec, field, _parse_scalar(text)))
        return st.text_input, widgets.bind_field(f"spec.{field}.refused", str(value), store)
    if parameter.choices:
        return st.selectbox, bound_choice(field, parameter.choices, value)
    if parameter.type is ParameterType.BOOL:
        return st.toggle, bound_field(field, value)
    return st.text_input, {"live": True, **bound_field(field, value)}


def _describe_parameter(parameter: Parameter) -> str:
    about, default = t.pick(parameter.help, parameter.help_zh), str(parameter.default)
    speed = t("configure.speed_legend", mark=SPEED) if parameter.decides_speed else ""
    if parameter.number_range:  # what is allowed is said of every number
        return " ".join(filter(None, (t("configure.number_help", help=about, default=default), speed)))
    texts = {"help": about, "allowed": t.message(parameter.allowed), "default": default}
    return " ".join(filter(None, (t("configure.parameter_help", **texts), speed)))


_NUMBERS = {ParameterType.INT: NumberRange(is_whole=True), ParameterType.FLOAT: NumberRange()}


def _parse_number(text: str, kind: ParameterType) -> Scalar:
    """The number, a float as a float; another text stays as it is, for preflight to refuse."""
    try:
        number = _NUMBERS[kind].read(text)
    except InvalidNumber:
        return text.strip()
    return float(number) if kind is ParameterType.FLOAT else number


def bound_field(field: str, value: Any) -> dict[str, Any]:
    """Arguments for a text, number or toggle that shows this value and stores changes in the page's draft."""
    return widgets.bind_field(f"spec.{field}", value, make_field_store(field))


def bound_choice(
    field: str, options: Sequence[Any], value: Any, titles: Callable[[Any], str] = str, *, any_value: bool = False
) -> dict[str, Any]:
    """Arguments for a select box that shows this value and stores changes in the page's draft.

    `any_value`: what is typed is stored, too."""
    return widgets.single_choice(f"spec.{field}", options, value, make_field_store(field), titles, any_value=any_value)


def make_field_store(field: str) -> widgets.Store:
    """Stores what a person enters or chooses for this field in the page's draft."""
    return make_spec_store(lambda spec, value: drafts.with_field(spec, field, value))


def make_spec_store(change: Callable[[RunSpec, Any], RunSpec]) -> widgets.Store:
    """Stores `change(spec, value)` in the page's draft, with the value that a person entered."""
    return partial(_apply_change, drafts.draft_key(), change)


def _apply_change(draft: str, change: Callable[[RunSpec, Any], RunSpec], value: Any) -> None:
    """Change the draft with this key: by now the URL may name another one than the widget shows."""
    try:
        drafts.change_draft(draft, lambda spec: change(spec, value))
    except SpecError as error:
        st.session_state[PROBLEM] = error


def _parse_scalar(text: str) -> Scalar:
    with suppress(InvalidNumber):
        return NumberRange().read(text)
    return {"true": True, "false": False}.get(text.strip().lower(), text)
