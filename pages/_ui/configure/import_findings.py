"""What an import found, on the page: findings with their lines, the profile with its keys hidden, the jobs as specs."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.authoring.upstream.found import FoundSpec, ImportedConfig, LineFinding
from aisbench_core.errors import AisbenchError
from aisbench_core.settings import Credentials, Profile
from pages._ui.configure import drafts
from pages._ui.shell import widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain, show_error
from pages._ui.shell.findings import finding_text
from pages._ui.shell.words import words

KEYS, NAME, REFUSED = "import-keys", "import-name", "import-refused"
MASK = "••••"


JOB = "import-job"


def show_findings(findings: Sequence[LineFinding]) -> None:
    """Every finding with its line, or that there is none."""
    t = words()
    st.header(t("import.findings"))
    if not findings:
        st.markdown(f":material/check_circle: :green[{t('findings.none')}]")
    for finding in findings:
        line = t("import.line", line=finding.line) + " · " if finding.line else ""
        st.markdown(f"**{line}{plain(finding.field)}** {finding_text(finding)}")


def show_facts(facts: Sequence[tuple[str, str]], alt: str) -> None:
    """Names and values as a table."""
    t = words()
    rows = [{t("import.setting"): name, t("import.value"): value} for name, value in facts]
    st.dataframe(rows, hide_index=True, alt=alt, height="content")


def choose_job(found: ImportedConfig) -> FoundSpec:
    """The job to make a draft of: the only one, or the one that a person chooses. There is at least one."""
    t = words()
    if len(found.specs) == 1 and not found.specs[0].source:
        return found.specs[0]
    sources = {spec.source: spec for spec in found.specs}
    titles = {name: t("import.job", name=plain(name), api=each.spec.api.upper()) for name, each in sources.items()}
    first = found.first.source if found.first else next(iter(sources))
    choice = widgets.session_choice(JOB, list(sources), first, titles.__getitem__)
    chosen = st.radio(t("import.which"), horizontal=True, **choice)
    return sources[chosen]


def draft_selection(job: FoundSpec, found: ImportedConfig) -> dict[str, str]:
    """A new draft of the job, as the URL names it; with the profile, if it was kept."""
    draft = drafts.draft_of(job.spec, to_yaml(job.spec, job.comments))
    kept = found.profile and found.profile.name in core().regions.names()
    return {"draft": draft} | ({"profile": found.profile.name} if found.profile and kept else {})


def profile_name() -> str:
    """The name that the person gives the profile; empty: none."""
    return str(st.session_state.get(NAME, "")).strip()


def show_imported_profile(profile: Profile, keys: Credentials | None) -> None:
    """The profile, and the button that keeps it; its keys only if the person agrees."""
    t = words()
    facts = profile.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    rows = [(name, str(value)) for name, value in facts.items()]
    rows += [("access_key", MASK), ("secret_key", MASK)] if keys else []
    show_facts(rows, t("import.profile"))
    st.text_input(t("import.name"), key=NAME, placeholder=profile.name, help=t("import.name_help"))
    if keys:
        st.checkbox(t("import.keys"), key=KEYS, help=t("import.keys_help"))
    replace = bool(st.session_state.get(REFUSED)) and st.checkbox(t("import.replace"), key="import-replace")
    if st.button(t("import.save"), key="import-save", icon=":material/save:"):
        _save(profile, keys if st.session_state.get(KEYS) else None, replace)


def _save(profile: Profile, keys: Credentials | None, replace: bool) -> None:
    """Keep the profile, and keys if there are any: they only come here when the person agreed."""
    t = words()
    try:
        core().configs.save_profile(profile, replace)
        if keys:
            core().configs.save_keys(profile.name, keys, replace)
            st.success(t("import.saved_keys", name=plain(profile.name)), icon=":material/check:")
        else:
            st.success(t("import.saved", name=plain(profile.name)), icon=":material/check:")
    except AisbenchError as error:
        st.session_state[REFUSED] = True
        show_error(error)
