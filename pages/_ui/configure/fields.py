"""The form's widgets: each shows one field of the draft, changes the draft at once, and has its findings below it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from aisbench_core.authoring.manifest import Parameter, ParameterType
from aisbench_core.authoring.workloads import Edition, Workload
from aisbench_core.errors import SpecError
from aisbench_core.model import Finding, Flavor, RunSpec, Scalar
from pages._ui.configure import drafts
from pages._ui.shell import widgets
from pages._ui.shell.errors import plain
from pages._ui.shell.findings import show_field_findings
from pages._ui.shell.words import words

SPEED = "†"
"""Marks parameters that decide speed."""

MOST_SENT = 2**53 - 1
"""The largest whole number that a number field of a browser can hold."""

PROBLEM = "form-problem"
"""Where a refused change is kept until it was shown."""


@dataclass(frozen=True, slots=True)
class Form:
    """What the widgets show: the draft's spec, the same with the manifest's answers, and what preflight says.

    `flavors` are the region's, `flavors_missing` says why there are none, `own_flavor` is the profile's;
    `comments` stand above parameters in the draft."""

    spec: RunSpec
    filled: RunSpec
    workload: Workload
    edition: Edition
    findings: Sequence[Finding]
    flavors: Sequence[Flavor]
    flavors_missing: str
    own_flavor: str
    comments: Mapping[str, str]


def text_field(form: Form, field: str) -> None:
    t = words()
    own, answered = getattr(form.spec, field), getattr(form.filled, field)
    st.text_input(
        t(f"field.{field}"),
        help=t(f"field.{field}_help"),
        placeholder="" if own else answered,
        live=True,
        **bound_field(field, own),
    )
    show_field_findings(form.findings, field)


def number_field(form: Form, field: str) -> None:
    """A field of the spec that holds a whole number, or nothing where that is allowed."""
    t = words()
    least, most = _limits(field)
    st.number_input(
        t(f"field.{field}"),
        min_value=least,
        max_value=most,
        step=1,
        help=t(f"field.{field}_help"),
        **bound_field(field, getattr(form.spec, field)),
    )
    show_field_findings(form.findings, field)


def choice_field(form: Form, field: str, options: Sequence[Any], titles: dict[Any, str]) -> None:
    t = words()
    st.selectbox(
        t(f"field.{field}"),
        help=t(f"field.{field}_help"),
        **bound_choice(field, options, getattr(form.spec, field), lambda each: titles.get(each, each)),
    )
    show_field_findings(form.findings, field)


def parameter(form: Form, name: str, parameter: Parameter) -> None:
    t = words()
    field = f"parameters.{name}"
    value = form.filled.parameters[name]
    label = f"{name} {SPEED}" if parameter.decides_speed else name
    help_text = t.pick(parameter.help, parameter.help_zh)
    about = t(
        "configure.parameter_help",
        help=plain(help_text),
        allowed=plain(t.said(parameter.allowed)),
        default=plain(str(parameter.default)),
    )
    if parameter.complaint(value) or (isinstance(value, int) and abs(value) > MOST_SENT):
        _refused_value(field, label, value, about)
    elif parameter.choices:
        st.selectbox(label, help=about, **bound_choice(field, parameter.choices, value))
    elif parameter.type is ParameterType.BOOL:
        st.toggle(label, help=about, **bound_field(field, value))
    elif parameter.type is ParameterType.STR:
        st.text_input(label, live=True, help=about, **bound_field(field, value))
    else:
        _number_parameter(field, label, parameter, value, about)
    show_field_findings(form.findings, field)


def _number_parameter(field: str, label: str, parameter: Parameter, value: Scalar, about: str) -> None:
    whole = parameter.type is ParameterType.INT
    kind = int if whole else float
    st.number_input(
        label,
        min_value=None if parameter.minimum is None else kind(parameter.minimum),
        max_value=None if parameter.maximum is None else kind(parameter.maximum),
        step=1 if whole else _step(parameter),
        format="%d" if whole else "%g",
        help=about,
        **bound_field(field, kind(value)),
    )


def _refused_value(field: str, label: str, value: Scalar, about: str) -> None:
    """A value that the right widget could not show, because it is of another type or out of range."""
    store = changing(lambda spec, text: drafts.with_field(spec, field, _scalar(text)))
    st.text_input(label, help=about, **widgets.field(f"spec.{field}.refused", str(value), store))


def _step(parameter: Parameter) -> float:
    """A tenth of the default's power of ten, so that the buttons move 0.1 by 0.01 and 0.0003 by 0.00001."""
    size = abs(float(parameter.default)) or 1.0
    return float(10.0 ** (math.floor(math.log10(size)) - 1))


def bound_field(field: str, value: Any) -> dict[str, Any]:
    """Arguments for a text, number or toggle that shows this value of the page's draft, and changes it."""
    return widgets.field(f"spec.{field}", value, _storing(field))


def bound_choice(
    field: str, options: Sequence[Any], value: Any, titles: Callable[[Any], str] = str, *, others: bool = False
) -> dict[str, Any]:
    """Arguments for a select box that shows this value of the page's draft, and changes it.

    `others`: what is typed is taken, too."""
    return widgets.single_choice(f"spec.{field}", options, value, _storing(field), titles, others=others)


def _storing(field: str) -> widgets.Store:
    return changing(lambda spec, value: drafts.with_field(spec, field, value))


def _limits(field: str) -> tuple[int | None, int | None]:
    limits = RunSpec.model_fields[field].metadata
    bounds = {name: getattr(limit, name) for limit in limits for name in ("ge", "le") if hasattr(limit, name)}
    return bounds.get("ge"), bounds.get("le")


def changing(change: Callable[[RunSpec, Any], RunSpec]) -> widgets.Store:
    """Stores in the page's draft what a change makes of it with the value that a person entered."""
    return partial(_change, drafts.draft_key(), change)


def _change(draft: str, change: Callable[[RunSpec, Any], RunSpec], value: Any) -> None:
    """Change the draft that the widget shows, whichever the URL names by now."""
    spec = drafts.read_draft(draft).spec
    if spec is None:
        return
    try:
        drafts.store(change(spec, value), draft)
    except SpecError as error:
        st.session_state[PROBLEM] = error


def _scalar(text: str) -> Scalar:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.strip().lower(), text)
