"""What preflight says, as lines of text: a sign and a colour for how much each matters."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.model import Finding, Level
from pages._ui.errors import plain
from pages._ui.words import words

SIGNS = {
    Level.ERROR: (":material/error:", "red"),
    Level.WARNING: (":material/warning:", "orange"),
    Level.INFO: (":material/lightbulb:", "blue"),
}


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of them forbids the launch."""
    return any(finding.level is Level.ERROR for finding in findings)


def show_all(findings: Sequence[Finding]) -> None:
    """Every finding with its field, errors first; or that there is none."""
    t = words()
    st.header(t("findings.title"))
    if not findings:
        st.markdown(f":material/check_circle: :green[{t('findings.none')}]")
    for finding in sorted(findings, key=lambda each: list(SIGNS).index(each.level)):
        st.markdown(f"{_field_text(finding.field)} {finding_text(finding)}")


def show_beside(findings: Sequence[Finding], *fields: str) -> None:
    """The findings about these fields, below their widget."""
    for finding in findings:
        if finding.field in fields:
            st.markdown(finding_text(finding))


def _field_text(field: str) -> str:
    """The field as the form names it and as YAML does."""
    name = words().field(field)
    return f"**{plain(name)}**" + (f" ({plain(field)})" if name != field else "")


def finding_text(finding: Finding) -> str:
    """One finding in a line: a sign, the sentence in its colour, and what to do."""
    sign, colour = SIGNS[finding.level]
    parts = [words().rule(finding.rule), finding.message]
    sentence = " ".join(plain(part) for part in parts if part)
    hint = f" – {plain(finding.hint)}" if finding.hint else ""
    return f"{sign} :{colour}[{sentence}]{hint}"
