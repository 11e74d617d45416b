"""A package of ais-bench-stubs in the import dialog: its facts, what the person adds, and the workload made of it."""

from collections.abc import Callable

import streamlit as st

from aisbench_core.base.formats import format_size
from aisbench_core.exchange.upstream.packages.package import Answers, Package, PackagedWorkload
from aisbench_core.model import Flavor
from pages._ui.configure.first_draft import list_flavors
from pages._ui.configure.import_findings import (
    offer_draft,
    profile_name,
    show_facts,
    show_findings,
    show_imported_profile,
)
from pages._ui.shell.core import actor, core, profile_in_url
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

NAME, BOOT, ENGINE = "import-workload-name", "import-boot", "import-engine"


def show_package(package: Package, done: Callable[[], None]) -> None:
    """The package, and the button that makes a workload of it, calls `done`, and opens a draft."""
    st.header(t("import.package"))
    show_facts(_list_facts(package), t("import.package"))
    described = core().packages.describe(package, _read_answers(), *_find_flavors())
    imported = described.imported
    if described.existing:
        st.info(t("import.package_known", name=escape_markdown(described.existing)), icon=":material/inventory_2:")
    else:
        _show_missing_values(package, described)
    show_findings(described.findings)
    if imported.profile:
        st.header(t("import.profile"))
        show_imported_profile(imported.profile, imported.keys)
    if described.workload:

        def make() -> None:
            core().packages.make(package, described, actor())

        st.header(t("import.jobs"))
        label = t("import.use") if described.existing else t("import.make")
        offer_draft(imported, label, key="import-make", make=make, done=done)


def _list_facts(package: Package) -> list[tuple[str, str]]:
    facts = [(t("import.source"), package.source)]
    if name := package.name:
        facts += [
            (t("import.company"), name.company),
            (t("field.workload"), name.workload),
            (t("import.architecture"), name.architecture),
            (t("import.version"), name.framework_version),
        ]
    return [*facts, (t("import.code"), t("import.code_size", files=package.entries, size=format_size(package.size)))]


def _read_answers() -> Answers:
    """What the person answers; the widgets below hold it."""
    name, boot_file, engine = (str(st.session_state.get(key) or "").strip() for key in (NAME, BOOT, ENGINE))
    return Answers(name, boot_file, engine, profile_name())


def _find_flavors() -> tuple[tuple[Flavor, ...], str]:
    """The flavors of the page's profile, and its own one; nothing while there is no profile."""
    profile = profile_in_url()
    if not profile:
        return (), ""
    return list_flavors(profile)[0], core().regions.profile(profile).flavor


def _show_missing_values(package: Package, described: PackagedWorkload) -> None:
    """The workload's name; boot file and engine only where the package does not say them."""
    st.text_input(t("import.workload_name"), key=NAME, placeholder=described.name, help=t("import.workload_name_help"))
    missing = {finding.rule for finding in described.findings}
    if "package.boot-file" in missing or st.session_state.get(BOOT):
        st.selectbox(t("field.boot_file"), package.scripts, None, key=BOOT, placeholder=t("import.choose"))
    if "package.engine" in missing or st.session_state.get(ENGINE):
        st.text_input(t("field.engine_version"), key=ENGINE)
