"""A package of ais-bench-stubs in the import dialog: what is in it, what the person adds, and the workload of it."""

from collections.abc import Callable

import streamlit as st

from aisbench_core.authoring.packages.package import Answers, Package, PackagedWorkload
from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.formats import size
from aisbench_core.model import Flavor
from pages._ui.configure.first_draft import known_flavors, profile_in_url
from pages._ui.configure.import_findings import (
    choose_job,
    draft_selection,
    profile_name,
    show_facts,
    show_findings,
    show_imported_profile,
)
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain
from pages._ui.shell.words import words

NAME, BOOT, ENGINE = "import-workload-name", "import-boot", "import-engine"


def show_package(package: Package, done: Callable[[], None]) -> None:
    """The package, and the button that makes a workload of it and opens a draft. `done` is called before that."""
    t = words()
    st.header(t("import.package"))
    show_facts(_facts(package), t("import.package"))
    described = core().packages.describe(package, _answers(), *_region())
    found = described.imported
    if described.existing:
        st.info(t("import.package_known", name=plain(described.existing)), icon=":material/inventory_2:")
    else:
        _ask(package, described)
    show_findings(described.findings)
    if found.profile:
        st.header(t("import.profile"))
        show_imported_profile(found.profile, found.keys)
    if described.workload:
        _offer(package, described, done)


def _facts(package: Package) -> list[tuple[str, str]]:
    t = words()
    name = package.name
    told = (
        [
            (t("import.company"), name.company),
            (t("field.workload"), name.workload),
            (t("import.architecture"), name.architecture),
            (t("import.version"), name.framework_version),
        ]
        if name
        else []
    )
    code = t("import.code_size", files=package.entries, size=size(package.size))
    return [(t("import.source"), package.source), *told, (t("import.code"), code)]


def _answers() -> Answers:
    """What the person says; the widgets below keep it."""
    name, boot_file, engine = (str(st.session_state.get(key) or "").strip() for key in (NAME, BOOT, ENGINE))
    return Answers(name, boot_file, engine, profile_name())


def _region() -> tuple[tuple[Flavor, ...], str]:
    """The flavors of the page's profile, and its own one; nothing while there is no profile."""
    profile = profile_in_url()
    if not profile:
        return (), ""
    return known_flavors(profile)[0], core().regions.profile(profile).flavor


def _ask(package: Package, described: PackagedWorkload) -> None:
    """The workload's name; boot file and engine, too, when nothing tells them."""
    t = words()
    st.text_input(t("import.workload_name"), key=NAME, placeholder=described.name, help=t("import.workload_name_help"))
    missing = {finding.rule for finding in described.findings}
    if "package.boot-file" in missing or st.session_state.get(BOOT):
        st.selectbox(t("field.boot_file"), package.scripts, None, key=BOOT, placeholder=t("import.choose"))
    if "package.engine" in missing or st.session_state.get(ENGINE):
        st.text_input(t("field.engine_version"), key=ENGINE)


def _offer(package: Package, described: PackagedWorkload, done: Callable[[], None]) -> None:
    t = words()
    st.header(t("import.jobs"))
    job = choose_job(described.imported)
    label = t("import.use") if described.existing else t("import.make")
    if st.button(label, key="import-make", type="primary", icon=":material/inventory_2:"):
        core().packages.make(package, described)
        selection = draft_selection(job, described.imported)
        done()
        navigation.go(navigation.CONFIGURE, selection)
    st.code(to_yaml(job.spec, job.comments), language="yaml", wrap_lines=True)
