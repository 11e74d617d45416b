"""The form's widgets: each shows one field of the draft, changes the draft at once, and has its findings below it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from aisbench_core.authoring.manifest import Parameter, ParameterType
from aisbench_core.authoring.workloads import Edition, Workload
from aisbench_core.errors import SpecError
from aisbench_core.model import Finding, Flavor, RunSpec, Scalar
from pages._ui import drafts
from pages._ui.findings import show_beside
from pages._ui.whole import whole
from pages._ui.words import words

SPEED = "†"
"""Marks parameters that decide speed."""

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


def text(form: Form, field: str) -> None:
    t = words()
    own, answered = getattr(form.spec, field), getattr(form.filled, field)
    st.text_input(
        t(f"field.{field}"),
        key=primed(field, own),
        help=t(f"field.{field}_help"),
        placeholder="" if own else answered,
        live=True,
        on_change=changed,
        args=(field,),
    )
    show_beside(form.findings, field)


def number(form: Form, field: str) -> None:
    """A field of the spec that holds a whole number."""
    _whole_number(form, field, "min")


def optional_number(form: Form, field: str) -> None:
    """A field of the spec that holds a whole number or nothing."""
    _whole_number(form, field, None)


def _whole_number(form: Form, field: str, when_empty: Literal["min"] | None) -> None:
    t = words()
    least, most = _limits(field)
    st.number_input(
        t(f"field.{field}"),
        min_value=least,
        max_value=most,
        value=when_empty,
        step=1,
        key=primed(field, getattr(form.spec, field)),
        help=t(f"field.{field}_help"),
        on_change=changed,
        args=(field,),
    )
    show_beside(form.findings, field)


def choice(form: Form, field: str, options: Sequence[Any], titles: dict[Any, str]) -> None:
    t = words()
    st.selectbox(
        t(f"field.{field}"),
        options,
        format_func=lambda each: titles.get(each, each),
        key=primed(field, getattr(form.spec, field)),
        help=t(f"field.{field}_help"),
        on_change=changed,
        args=(field,),
    )
    show_beside(form.findings, field)


def parameter(form: Form, name: str, parameter: Parameter) -> None:
    t = words()
    field = f"parameters.{name}"
    value = form.filled.parameters[name]
    label = f"{name} {SPEED}" if parameter.decides_speed else name
    text = t.pick(parameter.help, parameter.help_zh)
    about = t("configure.parameter_help", help=text, allowed=parameter.allowed, default=parameter.default)
    if parameter.complaint(value):
        _refused_value(field, label, value, about)
    elif parameter.choices:
        st.selectbox(label, parameter.choices, **_bound(field, value, about))
    elif parameter.type is ParameterType.BOOL:
        st.toggle(label, **_bound(field, value, about))
    elif parameter.type is ParameterType.STR:
        st.text_input(label, live=True, **_bound(field, value, about))
    else:
        _number_parameter(field, label, parameter, value, about)
    show_beside(form.findings, field)


def _number_parameter(field: str, label: str, parameter: Parameter, value: Scalar, about: str) -> None:
    whole = parameter.type is ParameterType.INT
    kind = int if whole else float
    st.number_input(
        label,
        min_value=None if parameter.minimum is None else kind(parameter.minimum),
        max_value=None if parameter.maximum is None else kind(parameter.maximum),
        step=1 if whole else _step(parameter),
        format="%d" if whole else "%g",
        **_bound(field, kind(value), about),
    )


def _refused_value(field: str, label: str, value: Scalar, about: str) -> None:
    """A value that the right widget could not show, because it is of another type or out of range."""
    key = f"spec.{field}.refused"
    if st.session_state.get(key) != str(value):
        st.session_state[key] = str(value)
    st.text_input(label, key=key, help=about, on_change=_corrected, args=(field,))


def _step(parameter: Parameter) -> float:
    """A tenth of the default's power of ten, so that the buttons move 0.1 by 0.01 and 0.0003 by 0.00001."""
    size = abs(float(parameter.default)) or 1.0
    return float(10.0 ** (math.floor(math.log10(size)) - 1))


def _bound(field: str, value: Scalar, about: str) -> dict[str, Any]:
    return {"key": primed(field, value), "help": about, "on_change": changed, "args": (field,)}


def primed(field: str, value: Any) -> str:
    """The widget's key, with the draft's value in it. Untouched when equal: setting it would disturb typing."""
    key = f"spec.{field}"
    shown = st.session_state.get(key)
    same = shown.strip() == value if isinstance(shown, str) and isinstance(value, str) else shown == value
    if key not in st.session_state or not same:
        st.session_state[key] = value
    return key


def _limits(field: str) -> tuple[int | None, int | None]:
    limits = RunSpec.model_fields[field].metadata
    bounds = {name: getattr(limit, name) for limit in limits for name in ("ge", "le") if hasattr(limit, name)}
    return bounds.get("ge"), bounds.get("le")


@whole
def changed(field: str) -> None:
    _store(field, st.session_state[f"spec.{field}"])


@whole
def _corrected(field: str) -> None:
    text = st.session_state[f"spec.{field}.refused"]
    _store(field, _scalar(text))


def _store(field: str, value: Any) -> None:
    spec = drafts.read_draft().spec
    if spec is None:
        return
    try:
        drafts.store(drafts.with_field(spec, field, value))
    except SpecError as error:
        st.session_state[PROBLEM] = error


def _scalar(text: str) -> Scalar:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.strip().lower(), text)
