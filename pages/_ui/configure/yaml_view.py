"""The draft as YAML, with the numbers of its lines beside it, and those marked in which something is wrong."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from aisbench_core.model import Level
from pages._ui.configure import drafts
from pages._ui.shell import widgets
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.numbers import describe_field
from pages._ui.shell.words import t

YAML = "yaml"  # what the URL says of this view
SPARE = 200  # numbers beyond the last line: somebody may type on, and the field only grows in the browser

# The field is as high as its text, at least 24 lines of 20 pixels, so that the numbers beside it never scroll; long
# lines scroll sideways.
STYLE = """<style>
    .st-key-yaml { position: relative; }
    [class*="st-key-about-spec-yaml"] .about-field { bottom: auto; top: calc(100% + 3px); }
    .st-key-yaml textarea, .yaml-lines { font: 13px/20px ui-monospace, Menlo, Consolas, monospace !important; }
    .st-key-yaml textarea { padding: 8px 12px 8px 56px !important; white-space: pre; overflow-x: auto;
        min-height: 498px !important; resize: none; }
    .st-key-yaml [data-testid="stElementContainer"]:has(.yaml-lines) { position: absolute; inset: 0; }
    .yaml-lines { position: absolute; inset: 0; overflow: hidden; pointer-events: none; padding: 9px 0; }
    .yaml-lines div { height: 20px; }
    .yaml-lines span { display: inline-block; width: 40px; text-align: right; opacity: .75; }
    .st-key-yaml:not(:focus-within) .yaml-lines .spare { visibility: hidden; }
    .yaml-lines .error { background: #d92d2026; box-shadow: inset 3px 0 #d92d20; }
    .yaml-lines .warning { background: #d1701a26; box-shadow: inset 3px 0 #d1701a; }
    .yaml-lines .error span, .yaml-lines .warning span { font-weight: 700; opacity: 1; }
</style>"""


def is_shown() -> bool:
    """Whether the page shows the draft as YAML."""
    return st.query_params.get("view") == YAML


def show_switch() -> None:
    """The way from the form to YAML, or back."""
    label = t("configure.view_form") if is_shown() else t("configure.view_yaml")
    icon = ":material/list_alt:" if is_shown() else ":material/code:"
    st.button(label, key="switch-view", icon=icon, on_click=switch_view, args=(not is_shown(),))


@repeat_if_aborted
def switch_view(to_yaml: bool) -> None:
    """Show the draft as YAML, or as a form."""
    if to_yaml:
        st.query_params["view"] = YAML
    else:
        st.query_params.pop("view", None)


def show_yaml(draft: drafts.SpecDraft, marked: Mapping[int, Level]) -> None:
    """The draft as YAML; the form shows what is typed here, and the other way round."""
    st.html(STYLE)
    field = widgets.bind_field("spec.yaml", draft.text, partial(drafts.store_text, key=drafts.draft_key()))
    with describe_field(field["key"], t("configure.yaml_help")), st.container(key="yaml", gap=None):
        st.text_area(t("configure.yaml"), height="content", label_visibility="collapsed", **field)
        st.html(_build_lines(draft.text, marked))


def _build_lines(text: str, marked: Mapping[int, Level]) -> str:
    written = text.rstrip("\n").count("\n") + 1
    kinds = {number: str(level) for number, level in marked.items()} | dict.fromkeys(
        range(written + 1, written + SPARE), "spare"
    )
    lines = (
        f'<div class="{kinds.get(number, "")}"><span>{number}</span></div>' for number in range(1, written + SPARE)
    )
    return f'<div class="yaml-lines" aria-hidden="true">{"".join(lines)}</div>'
