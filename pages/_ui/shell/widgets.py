"""Widgets that show a value which is stored elsewhere: in a draft, in the URL, or for the session.

Streamlit sends the label of a choice, not the choice, and tells a browser that a widget has another value in one
message, which is dropped when a newer run replaces the one that sent it. A browser may therefore hold a label of
another language, or a widget's minimum, and send it with the next click as if a person had chosen it. Hence:

* the value is given to the widget itself (`value`, `index`, `default`), so that it is drawn right by whatever run;
* a widget that is to show another value or label than the browser has is a new one: its key changes;
* only what differs from the value that was drawn, and is one of the options, is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from pages._ui.shell.callbacks import repeat_if_aborted

# Between a widget's name and the number of its version, from the second version on: `spec.epochs--v1`.
VERSION = "--v"

# A browser that lags behind may still send what it knows of earlier versions of a widget; of so many.
VERSIONS_HELD = 3

Store = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What a version of a widget shows: the value, and what the browser sends for it where that is a label."""

    value: Any
    label: Any


@dataclass(frozen=True, slots=True)
class _Versions:
    newest: int
    drawn: Mapping[int, _Drawn]


def bind_field(name: str, value: Any, store: Store) -> dict[str, Any]:
    """Arguments for a text, number or toggle; `store` is called with what a person enters."""
    return {"value": value, **_bind_widget(name, value, store)}


def page_control(name: str, value: int, pages: int, store: Store) -> dict[str, Any]:
    """Arguments for `st.pagination`."""
    return {"num_pages": pages, "default": value, **_bind_widget(name, value, store, range(1, pages + 1).__contains__)}


def single_choice(
    name: str,
    options: Sequence[Any],
    value: Any,
    store: Store,
    title: Callable[[Any], str] = str,
    *,
    any_value: bool = False,
) -> dict[str, Any]:
    """Arguments for a select box or radio; a value that is no option is shown as none chosen.

    `any_value`: what is no option may be stored, too."""
    offered, label = list(options), _build_labels(options, title)
    accepts = None if any_value else offered.__contains__
    return {
        "options": offered,
        "index": offered.index(value) if value in offered else None,
        "format_func": label,
        **_bind_widget(name, value, store, accepts, label),
    }


def multiple_choice(
    name: str,
    options: Sequence[Any],
    values: Sequence[Any],
    store: Store,
    title: Callable[[Any], str] = str,
    *,
    any_value: bool = False,
) -> dict[str, Any]:
    """Arguments for a choice of any number; the values are options.

    `any_value`: what is no option may be stored, too."""
    offered, label = list(options), _build_labels(options, title)
    accepts = None if any_value else set(offered).issuperset
    return {
        "options": offered,
        "default": list(values),
        "format_func": label,
        **_bind_widget(name, list(values), store, accepts, lambda values: [label(value) for value in values]),
    }


def _build_labels(options: Sequence[Any], title: Callable[[Any], str]) -> Callable[[Any], str]:
    """The labels of now: Streamlit formats options again later, in threads that do not know the session's language."""
    labels = {option: title(option) for option in options}
    return lambda option: labels.get(option, str(option))


def session_choice(
    name: str, options: Sequence[Any], default: Any, title: Callable[[Any], str] = str
) -> dict[str, Any]:
    """Arguments for a select box or radio whose choice is stored for the session, whatever the language is."""
    slot = _session_slot(name)
    chosen = st.session_state.get(slot, default)
    return single_choice(name, options, chosen if chosen in options else default, partial(_store_choice, slot), title)


def remember_choice(name: str, value: Any) -> None:
    """Make this the choice that is stored for the session."""
    _store_choice(_session_slot(name), value)


def forget(name: str) -> None:
    """Forget the choice that was stored for the session."""
    st.session_state.pop(_session_slot(name), None)


def _session_slot(name: str) -> str:
    return f"chosen.{name}"


def _store_choice(slot: str, value: Any) -> None:
    st.session_state[slot] = value


def _bind_widget(
    name: str,
    value: Any,
    store: Store,
    accepts: Callable[[Any], bool] | None = None,
    labels: Callable[[Any], Any] | None = None,
) -> dict[str, Any]:
    """`accepts`: which values may be stored, else all; `labels`: what the browser sends for a value, else itself."""
    version = _version_for(name, _to_drawn(value, labels))
    return {
        "key": _build_key(name, version),
        "on_change": _store_change,
        "args": (name, version, store, accepts, labels),
    }


def _to_drawn(value: Any, labels: Callable[[Any], Any] | None) -> _Drawn:
    return _Drawn(value, labels(value) if labels else value)


def _version_for(name: str, drawn: _Drawn) -> int:
    """The version of the widget that shows this; a new one where the browser may hold something else."""
    versions: _Versions | None = st.session_state.get(_build_slot(name))
    if versions is None:
        versions = _Versions(0, {})
    elif _is_outdated(name, versions, drawn):
        versions = replace(versions, newest=versions.newest + 1)
    newest = versions.newest
    held = {number: older for number, older in versions.drawn.items() if number > newest - VERSIONS_HELD}
    st.session_state[_build_slot(name)] = replace(versions, drawn=held | {newest: drawn})
    return newest


def _is_outdated(name: str, versions: _Versions, drawn: _Drawn) -> bool:
    before = versions.drawn[versions.newest]
    shown = st.session_state.get(_build_key(name, versions.newest), drawn.value)
    return not (
        _is_same(before.value, drawn.value) and _is_same(before.label, drawn.label) and _is_same(shown, drawn.value)
    )


@repeat_if_aborted
def _store_change(
    name: str, version: int, store: Store, accepts: Callable[[Any], bool] | None, labels: Callable[[Any], Any] | None
) -> None:
    """Store what a person entered; what the browser only sends again is not stored."""
    versions: _Versions = st.session_state[_build_slot(name)]
    before = versions.drawn.get(version)
    if before is None:
        return
    value = st.session_state.get(_build_key(name, version), before.value)
    if _is_same(value, before.value) or _is_same(value, before.label) or (accepts and not accepts(value)):
        return
    store(value)
    st.session_state[_build_slot(name)] = replace(versions, drawn={**versions.drawn, version: _to_drawn(value, labels)})


def _build_key(name: str, version: int) -> str:
    return f"{name}{VERSION}{version}" if version else name


def _build_slot(name: str) -> str:
    return f"bound.{name}"


def _is_same(left: Any, right: Any) -> bool:
    """Blanks around a text do not count: somebody is still typing, and a new widget would take the cursor away."""
    if isinstance(left, str) and isinstance(right, str):
        return left.strip() == right.strip()
    return bool(left == right)
