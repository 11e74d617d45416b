"""What an import contains: findings with their lines, the profile with its keys masked, the jobs as specs."""

from collections.abc import Callable, Sequence

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.specfile import to_yaml
from aisbench_core.exchange.upstream.configs.contents import ImportedConfig, ImportedSpec, LineFinding
from aisbench_core.exchange.upstream.configs.session import UNKNOWN_WORKLOAD
from pages._ui.configure import drafts
from pages._ui.configure.findings import finding_text, show_no_findings
from pages._ui.shell import navigation, widgets
from pages._ui.shell.core import actor, core, right_to
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

JOB, KEYS, NAME, REFUSED = "import-job", "import-keys", "import-name", "import-refused"
MASK = "••••"


def show_findings(findings: Sequence[LineFinding]) -> None:
    st.header(t("import.findings"))
    if not findings:
        show_no_findings()
    for finding in findings:
        line = t("import.line", line=finding.line) + " · " if finding.line else ""
        st.markdown(f"**{line}{escape_markdown(finding.field)}** {finding_text(finding)}")


def show_facts(facts: Sequence[tuple[str, str]], alt: str) -> None:
    titles = {"setting": t("import.setting"), "value": t("import.value")}
    show_table([{"setting": name, "value": value} for name, value in facts], titles, alt)


def offer_draft(
    imported: ImportedConfig, label: str, *, key: str, done: Callable[[], None], make: Callable[[], None] | None = None
) -> None:
    """One of the imported jobs, of which there is at least one, and the button that makes a draft of it.

    `make` is called before, and `done` after; the page then opens the draft."""
    job = _choose_job(imported)
    asks = job.spec.workload == UNKNOWN_WORKLOAD
    if asks:
        st.info(t("import.choose_workload"), icon=":material/help:")
    if st.button(label, key=key, type="primary", icon=":material/edit_note:", disabled=asks):
        if make:
            make()
        selection = {"draft": drafts.draft_of(job.spec, to_yaml(job.spec, job.comments))}
        if imported.profile and imported.profile.name in core().regions.names():
            selection["profile"] = imported.profile.name
        done()
        navigation.open_page(navigation.CONFIGURE, selection)
    st.code(to_yaml(job.spec, job.comments), language="yaml", wrap_lines=True)


def _choose_job(imported: ImportedConfig) -> ImportedSpec:
    if len(imported.specs) == 1 and not imported.specs[0].source:
        return imported.specs[0]
    jobs = {job.source: job for job in imported.specs}
    first = imported.first.source if imported.first else next(iter(jobs))

    def title(source: str) -> str:
        return t("import.job", name=escape_markdown(source), api=jobs[source].spec.api.upper())

    choice = widgets.session_choice(JOB, list(jobs), first, title)
    return jobs[st.radio(t("import.which"), horizontal=True, **choice)]


def profile_name() -> str:
    """The name that the person gives the profile; may be empty."""
    return str(st.session_state.get(NAME, "")).strip()


def show_imported_profile(profile: Profile, keys: Credentials | None) -> None:
    """The profile, and the button that saves it; its keys only with the person's consent."""
    facts = profile.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    rows = [(name, str(value)) for name, value in facts.items()]
    rows += [("access_key", MASK), ("secret_key", MASK)] if keys else []
    show_facts(rows, t("import.profile"))
    st.text_input(t("import.name"), key=NAME, placeholder=profile.name, help=t("import.name_help"))
    if keys:
        st.checkbox(t("import.keys"), key=KEYS, help=t("import.keys_help"))
    replace = bool(st.session_state.get(REFUSED)) and st.checkbox(t("import.replace"), key="import-replace")
    may_save = right_to("Configs.save_profile")
    if not st.button(
        t("import.save"), key="import-save", icon=":material/save:", disabled=not may_save.is_given,
        help=may_save.help_text,
    ):  # fmt: skip
        return
    try:
        core().configs.save_profile(profile, actor(), replace)
        if keys and st.session_state.get(KEYS):
            core().configs.save_keys(profile.name, keys, actor(), replace)
            st.success(t("import.saved_keys", name=escape_markdown(profile.name)), icon=":material/check:")
        else:
            st.success(t("import.saved", name=escape_markdown(profile.name)), icon=":material/check:")
    except AisbenchError as error:
        st.session_state[REFUSED] = True  # from now on the form offers to replace the profile
        show_error(error)
