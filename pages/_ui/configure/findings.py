"""What preflight says, as lines of text: a sign and a colour for how much each matters."""

import re
from collections.abc import Callable, Sequence

import streamlit as st

from aisbench_core.model import Finding, Level, Scalar
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

COUNTED = {Level.ERROR: "findings.count_error", Level.WARNING: "findings.count_warning"}
BOXES = '[data-testid="stTextInputRootElement"], [data-testid="stSelectbox"] [role="group"]'
PLAIN = re.compile(r"[A-Za-z0-9_-]+")

SIGNS = {
    Level.ERROR: (":material/error:", "red"),
    Level.WARNING: (":material/warning:", "orange"),
    Level.INFO: (":material/lightbulb:", "blue"),
}


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of them blocks the launch."""
    return any(finding.level is Level.ERROR for finding in findings)


def show_all(findings: Sequence[Finding]) -> None:
    """Every finding with its field, errors first; or that there is none."""
    st.header(t("findings.title"))
    if not findings:
        show_no_findings()
    for finding in sort_findings(findings):
        st.markdown(f"**{_title_field(finding.field)}** {finding_text(finding)}")


def show_each(
    findings: Sequence[Finding],
    fix: Callable[[Finding], None],
    jump_to: Callable[[str], None],
    find_line: Callable[[str], int | None],
) -> None:
    """Every finding, errors first: its field as a button that leads there, what is wrong, and what would fix it.

    `find_line`: in which line of the YAML view a field is."""
    for number, finding in enumerate(sort_findings(findings)):
        line, icon = find_line(finding.field), ":material/my_location:"
        at_line = {"field": escape_markdown(finding.field), "line": line}
        label = t("findings.at_line", **at_line) if line else name_field(finding.field)
        with st.container(gap=None, key=f"finding.{number}"):
            st.button(label, key=f"go-to.{number}", type="tertiary", icon=icon, on_click=jump_to, args=(finding.field,))
            st.markdown(finding_text(finding))
            if finding.fix:
                label = t("findings.fix", change=", ".join(_change_text(*change) for change in finding.fix))
                st.button(label, key=f"fix.{number}", icon=":material/build:", on_click=fix, args=(finding,))


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Errors first, then warnings."""
    return sorted(findings, key=lambda finding: list(SIGNS).index(finding.level))


def count_findings(findings: Sequence[Finding]) -> str:
    """How many errors and warnings there are; empty if there are none of either."""
    levels = [finding.level for finding in findings]
    return " · ".join(
        f"{SIGNS[level][0]} :{SIGNS[level][1]}[{t(text, count=levels.count(level))}]"
        for level, text in COUNTED.items()
        if level in levels
    )


def name_field(field: str) -> str:
    """The field's name, or what stands after its last dot."""
    name = t.field(field)
    return escape_markdown(name if name != field else field.rpartition(".")[2])


def mark_fields(findings: Sequence[Finding]) -> None:
    """A red border around the fields in which there is an error."""
    keys = {f"st-key-spec-{finding.field.replace('.', '-')}" for finding in findings if finding.level is Level.ERROR}
    names = [key for key in sorted(keys) if PLAIN.fullmatch(key)]
    if names:
        fields = ", ".join(f'[class*="{name}"] :is({BOXES})' for name in names)
        st.html(f"<style>{fields} {{ border-color: light-dark(#a3141a, #ff9a94); }}</style>")


def _title_field(field: str) -> str:
    """The field's name, and beside it what YAML calls it."""
    name = t.field(field)
    return escape_markdown(name) + (f" ({escape_markdown(field)})" if name != field else "")


def show_no_findings(unchecked: str = "") -> None:
    """That nothing was found; or, where the region's flavors are not known, that they were not checked, and why."""
    if unchecked:
        text = t("findings.unchecked", reason=escape_markdown(t.message(unchecked)))
        st.markdown(f":material/cloud_off: :orange[{text}]")
    else:
        st.markdown(f":material/check_circle: :green[{t('findings.none')}]")


def show_field_findings(findings: Sequence[Finding], *fields: str) -> None:
    """The findings about these fields, below their widget."""
    for finding in findings:
        if finding.field in fields:
            st.markdown(finding_text(finding))


def _change_text(field: str, value: Scalar | None) -> str:
    """One change as YAML writes it: `node_count: 16`; a field that is dropped is crossed out."""
    if value is None:
        return f"~~{escape_markdown(field)}~~"
    return escape_markdown(f"{field}: {str(value).lower() if isinstance(value, bool) else value}")


def finding_text(finding: Finding) -> str:
    """One finding in a line: a sign, the sentence in its colour, and what to do."""
    sign, colour = SIGNS[finding.level]
    parts = [t.rule(finding.rule), t.message(finding.message)]
    sentence = " ".join(escape_markdown(part) for part in parts if part)
    hint = f" – {escape_markdown(t.message(finding.hint))}" if finding.hint else ""
    return f"{sign} :{colour}[{sentence}]{hint}"
