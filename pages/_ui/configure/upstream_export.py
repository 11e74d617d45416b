"""The draft as a modelarts_config.py for ais-bench-stubs, and as a job for other tools."""

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.exchange.upstream.configs.contents import ExportedConfig
from aisbench_core.exchange.upstream.jobs.writing import FILE_NAMES, JobForm
from aisbench_core.model import RunSpec
from pages._ui.configure.drafts import draft_key, stored_comments, stored_spec
from pages._ui.configure.findings import finding_text
from pages._ui.shell.core import actor, at_click, core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

FILE = "modelarts_config.py"
SCRIPT = "ma-pre-start.sh"
_KEYS = {FILE: "export", SCRIPT: "export-script"}


def show_upstream_export(spec: RunSpec, profile: str) -> None:
    """Downloads, with the fields of the spec that the files cannot hold; or why there are none."""
    st.markdown(f"**{t('export.title')}**")
    try:
        exported = _export_config(spec, profile, draft_key())
    except AisbenchError as error:
        st.markdown(t("export.refused", reason=escape_markdown(t.message(error.message))))
        return
    st.caption(t("export.what", file=FILE))
    for finding in exported.findings:
        st.markdown(f"**{escape_markdown(t.field(finding.field))}** {finding_text(finding)}")
    _show_download(FILE, "text/x-python", spec, profile)
    if exported.script:
        _show_download(SCRIPT, "text/x-shellscript", spec, profile)


def show_other_exports(spec: RunSpec, profile: str) -> None:
    """Downloads of the same job for other tools."""
    st.markdown(f"**{t('export.other_tools')}**")
    forms = (
        (JobForm.V2, "application/json", t("export.api")),
        (JobForm.MA_CLI, "text/yaml", t("export.ma_cli")),
    )
    for form, mime, label in forms:
        try:
            findings = core().configs.write_job(form, spec, profile).findings
        except AisbenchError as error:
            st.markdown(t("export.refused", reason=escape_markdown(t.message(error.message))))
            return
        left_out = sorted({t.field(finding.field) for finding in findings})
        help_text = t("export.left_out", fields=", ".join(left_out)) if left_out else None
        _show_download(FILE_NAMES[form], mime, spec, profile, label, help_text)


def _show_download(
    name: str, mime: str, spec: RunSpec, profile: str, label: str = "", help_text: str | None = None
) -> None:
    # Written at the click: right after a change, the browser may still show the button of before.
    data, icon = at_click(_build_content, name, draft_key(), spec, profile), ":material/download:"
    label, key = label or t("export.download", file=name), _KEYS.get(name, f"export-{name}")
    st.download_button(label, data, name, mime, key=key, on_click="ignore", icon=icon, help=help_text)


def _build_content(name: str, key: str, shown: RunSpec, profile: str) -> str:
    if form := next((form for form, file in FILE_NAMES.items() if file == name), None):
        return core().configs.write_job(form, stored_spec(key, shown), profile).text
    exported = _export_config(stored_spec(key, shown), profile, key)
    return exported.script if name == SCRIPT else exported.text


def _export_config(spec: RunSpec, profile: str, key: str) -> ExportedConfig:
    """Raises NotAllowed for files of the server that the person may not read: the script depends on them."""
    require_open_files(spec, actor(), core().runs.open_folders)
    return core().configs.write(spec, profile, stored_comments(key))
