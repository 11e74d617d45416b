"""What preflight says, as lines of text: a sign and a colour for how much each matters."""

from collections.abc import Callable, Sequence

import streamlit as st

from aisbench_core.model import Finding, Level, Scalar
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

SIGNS = {
    Level.ERROR: (":material/error:", "red"),
    Level.WARNING: (":material/warning:", "orange"),
    Level.INFO: (":material/lightbulb:", "blue"),
}


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of them blocks the launch."""
    return any(finding.level is Level.ERROR for finding in findings)


def show_all(
    findings: Sequence[Finding],
    fix: Callable[[Finding], None] | None = None,
    jump_to: Callable[[str], None] | None = None,
    *,
    unchecked: str = "",
) -> None:
    """Every finding with its field, errors first; or that there is none.

    `fix` applies what a finding proposes, at a click, `jump_to` shows its field;
    `unchecked` is why the region's flavors are not known."""
    st.header(t("findings.title"))
    if unchecked or not findings:
        show_no_findings(unchecked)
    for number, finding in enumerate(sorted(findings, key=lambda finding: list(SIGNS).index(finding.level))):
        name = t.field(finding.field)
        key = f" ({escape_markdown(finding.field)})" if name != finding.field else ""  # as YAML calls it
        st.markdown(f"**{escape_markdown(name)}**{key} {finding_text(finding)}")
        with st.container(horizontal=True, gap="small"):
            if fix and finding.fix:
                label = t("findings.fix", change=", ".join(_change_text(*change) for change in finding.fix))
                st.button(label, key=f"fix.{number}", icon=":material/build:", on_click=fix, args=(finding,))
            if jump_to:
                label, icon = t("findings.go_to"), ":material/my_location:"
                st.button(
                    label, key=f"go-to.{number}", type="tertiary", icon=icon, on_click=jump_to, args=(finding.field,)
                )


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
