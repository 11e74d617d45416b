"""The browser of a region's object store: one directory, one page at a time."""

import streamlit as st

from aisbench_core.base.formats import format_size
from pages._ui.region.answers import query_region, show_answer
from pages._ui.shell import navigation, url
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

MAX_NAME = 80  # letters of a directory's name; longer ones would push everything else off the page


def show_files(profile: str) -> None:
    """The directory that the URL names, or the profile's bucket: where it lies, its directories, and its objects."""
    bucket = f"/{core().regions.profile(profile).bucket}/"
    named = url.input_text("path", t("region.path"), resets=["after"], placeholder=bucket, width=560)
    after = st.query_params.get("after", "")
    page = show_answer(core().region_files.page, profile, named or bucket, after)
    if page is None:
        return
    _show_way(profile, page.path)
    _show_size(profile, page.path)
    if not page.entries:
        st.info(t("region.empty"), icon=":material/folder_off:")
    with st.container(gap="xxsmall"):
        for entry in page.entries:
            if entry.is_directory:
                _show_link(profile, escape_markdown(entry.name[:MAX_NAME]), entry.path, icon=":material/folder:")
    objects = [entry for entry in page.entries if not entry.is_directory]
    if objects:
        titles = {"name": t("region.object"), "size": t("region.size")}
        rows = [{"name": entry.name, "size": format_size(entry.size)} for entry in objects]
        show_table(rows, titles, t("region.objects"), widths={"name": "large"})
    with st.container(horizontal=True):
        if after:
            _show_link(profile, t("region.first_page"), page.path, icon=":material/first_page:")
        if page.next_after:
            _show_link(profile, t("region.next_page"), page.path, page.next_after, icon=":material/chevron_right:")


def _show_way(profile: str, path: str) -> None:
    """Links to the bucket and to every directory on the way to this one."""
    parts = path.strip("/").split("/")
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center", key="breadcrumbs"):
        for count, part in enumerate(parts, start=1):
            icon = ":material/database:" if count == 1 else ":material/chevron_right:"
            _show_link(profile, escape_markdown(part[:MAX_NAME]) or "/", f"/{'/'.join(parts[:count])}/", icon=icon)


def _show_link(profile: str, label: str, path: str, after: str = "", *, icon: str) -> None:
    selection = {"profile": profile, "show": "files", "path": path, **({"after": after} if after else {})}
    navigation.link_page(navigation.REGION, label, selection, icon=icon)


def _show_size(profile: str, path: str) -> None:
    """Objects and bytes below the directory; counted on request, because a full count reads every key."""
    if not st.button(t("region.count"), key=f"count-{path}", icon=":material/calculate:", help=t("region.count_help")):
        return
    answer = query_region(core().region_files.size, profile, path)
    if answer.error:
        show_sentence(answer.error)
        return
    counted = answer.value
    key = "region.counted" if counted.complete else "region.counted_at_least"
    st.markdown(t(key, objects=f"{counted.objects:,}", size=format_size(counted.size)))
