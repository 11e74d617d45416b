"""What preflight says, as lines of text: a sign and a colour for how much each matters."""

from collections.abc import Callable, Sequence

import streamlit as st

from aisbench_core.model import Finding, Level, Scalar
from pages._ui.shell.errors import plain
from pages._ui.shell.words import words

SIGNS = {
    Level.ERROR: (":material/error:", "red"),
    Level.WARNING: (":material/warning:", "orange"),
    Level.INFO: (":material/lightbulb:", "blue"),
}


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of them forbids the launch."""
    return any(finding.level is Level.ERROR for finding in findings)


def show_all(
    findings: Sequence[Finding], mend: Callable[[Finding], None] | None = None, *, unchecked: str = ""
) -> None:
    """Every finding with its field, errors first; or that there is none.

    `mend` carries out what a finding proposes, at a click; `unchecked`: why the region's offer is not known."""
    t = words()
    st.header(t("findings.title"))
    if unchecked:
        said = t("findings.unchecked", reason=plain(t.said(unchecked)))
        st.markdown(f":material/cloud_off: :orange[{said}]")
    elif not findings:
        st.markdown(f":material/check_circle: :green[{t('findings.none')}]")
    for number, finding in enumerate(sorted(findings, key=lambda each: list(SIGNS).index(each.level))):
        st.markdown(f"{_field_text(finding.field)} {finding_text(finding)}")
        if mend and finding.fix:
            label = t("findings.fix", change=", ".join(_change_text(*change) for change in finding.fix))
            st.button(label, key=f"fix.{number}", icon=":material/build:", on_click=mend, args=(finding,))


def show_field_findings(findings: Sequence[Finding], *fields: str) -> None:
    """The findings about these fields, below their widget."""
    for finding in findings:
        if finding.field in fields:
            st.markdown(finding_text(finding))


def _change_text(field: str, value: Scalar | None) -> str:
    """One change as YAML writes it: `node_count: 16`; what is taken away is crossed out."""
    if value is None:
        return f"~~{plain(field)}~~"
    return plain(f"{field}: {str(value).lower() if isinstance(value, bool) else value}")


def _field_text(field: str) -> str:
    """The field as the form names it and as YAML does."""
    name = words().field(field)
    return f"**{plain(name)}**" + (f" ({plain(field)})" if name != field else "")


def finding_text(finding: Finding) -> str:
    """One finding in a line: a sign, the sentence in its colour, and what to do."""
    sign, colour = SIGNS[finding.level]
    t = words()
    parts = [t.rule(finding.rule), t.said(finding.message)]
    sentence = " ".join(plain(part) for part in parts if part)
    hint = f" – {plain(t.said(finding.hint))}" if finding.hint else ""
    return f"{sign} :{colour}[{sentence}]{hint}"
