"""Pickers beside fields: a directory, pool, engine or image of the region fills the field by a click."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import streamlit as st

from aisbench_core.model import ImageVersion
from pages._ui.region.answers import query_region
from pages._ui.shell import url
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.widgets import Store
from pages._ui.shell.words import t

MAX_NAME = 60  # letters of a directory's name on its button
CHOICES = 25  # of one page of a list
MAX_OBJECTS = 5  # names that are shown of a directory's objects: enough to recognise a dataset


def show_directory_picker(field: str, path: str, profile: str, store: Store) -> None:
    """*Browse*: the directories of the region's object store, from the field's path or the profile's bucket on."""
    if not profile:
        return
    key = f"browse-{field}"
    # What is inside is only drawn, and the region only asked, while it is open.
    with st.popover(t("picker.browse"), icon=":material/folder_open:", key=key, on_change="rerun") as popover:
        if popover.open:
            _show_directory(key, path, profile, store)


def _show_directory(key: str, path: str, profile: str, store: Store) -> None:
    bucket = f"/{core().regions.profile(profile).bucket}/"
    directory, after = st.session_state.get(_build_position_key(key, profile), (path or bucket, ""))
    answer = query_region(core().region_files.page, profile, directory, after)
    if answer.error:
        show_sentence(answer.error)
        _show_button(key, t("picker.bucket"), "database", profile, bucket)
        return
    page = answer.value
    st.code(page.path, language=None, wrap_lines=True)
    with st.container(horizontal=True):
        arguments = (key, page.path, store)
        st.button(t("picker.use"), key=f"{key}-use", type="primary", on_click=choose_value, args=arguments)
        if page.path.count("/") > 2:  # a bucket's path is /bucket/
            _show_button(
                key, t("picker.up"), "arrow_upward", profile, page.path[: page.path.rstrip("/").rfind("/") + 1]
            )
    for entry in page.entries:
        if entry.is_directory:
            _show_button(key, escape_markdown(entry.name[:MAX_NAME]), "folder", profile, entry.path)
    objects = [escape_markdown(entry.name[:MAX_NAME]) for entry in page.entries if not entry.is_directory]
    if objects:
        more = " …" if len(objects) > MAX_OBJECTS else ""
        st.caption(t("picker.objects", names=", ".join(objects[:MAX_OBJECTS]) + more))
    elif not page.entries:
        st.caption(t("region.empty"))
    if page.next_after:
        _show_button(key, t("region.next_page"), "chevron_right", profile, page.path, page.next_after)


def _show_button(key: str, label: str, icon: str, profile: str, path: str, after: str = "") -> None:
    arguments = (_build_position_key(key, profile), path, after)
    name = f"{key}-to-{path}-{after}"
    st.button(label, key=name, icon=f":material/{icon}:", type="tertiary", on_click=browse_directory, args=arguments)


def _build_position_key(key: str, profile: str) -> str:
    return f"{key}-at-{profile}"


@repeat_if_aborted
def browse_directory(position: str, path: str, after: str) -> None:
    """Show another directory, or another page of it."""
    st.session_state[position] = (path, after)


@repeat_if_aborted
def choose_value(key: str, value: Any, store: Store) -> None:
    """Fill the field, and close the picker."""
    store(value)
    st.session_state[key] = False


def show_pool_picker(profile: str, store: Store) -> None:
    """*Choose* for the field of the pool: dedicated pools with their free nodes."""

    def choices() -> Iterator[tuple[str, str]]:
        for pool in _fetch_answer(core().region_resources.pools, profile) or ():
            known = None not in (pool.free_nodes, pool.total_nodes)
            free = t("picker.free", free=pool.free_nodes, total=pool.total_nodes) if known else ""
            yield pool.pool_id, " · ".join(filter(None, (escape_markdown(pool.name), free)))

    _show_choices("pool_id", profile, choices, store)


def show_engine_picker(profile: str, store: Store) -> None:
    """*Choose* for both fields of the engine: the region's preset images."""

    def choices() -> Iterator[tuple[tuple[str, str], str]]:
        for engine in _fetch_answer(core().region_resources.engines, profile) or ():
            yield (engine.name, engine.version), escape_markdown(f"{engine.name} {engine.version}")

    _show_choices("engine", profile, choices, store)


def show_image_picker(profile: str, store: Store) -> None:
    """*Choose* for the image: an organisation in SWR, then one of its images, then a version."""
    if not profile:
        return
    key = "choose-image_url"
    with st.popover(t("picker.choose"), icon=":material/cloud:", key=key, on_change="rerun") as popover:
        if popover.open:
            _show_images(key, profile, store)


def _show_images(key: str, profile: str, store: Store) -> None:
    position = _build_position_key(key, profile)
    way: tuple[str, ...] = st.session_state.get(position, ())
    if way:
        st.code("/".join(way), language=None, wrap_lines=True)
        up = (position, way[:-1])
        st.button(t("picker.up"), key=f"{key}-up", icon=":material/arrow_upward:", on_click=go_to, args=up)
    resources = core().region_resources
    queries = (resources.organisations, resources.repositories, resources.versions)
    offered = _fetch_answer(queries[len(way)], profile, *way) or ()
    if not offered:
        st.caption(t("region.nothing"))
    pages = url.Pages(f"{key}-page", len(offered), CHOICES)
    for item in offered[pages.offset : pages.offset + CHOICES]:
        name = item.tag if isinstance(item, ImageVersion) else item.name
        with_name = partial(st.button, escape_markdown(name), key=f"{key}-to-{name}", type="tertiary")
        if isinstance(item, ImageVersion):
            with_name(on_click=choose_value, args=(key, item.image, store))
        else:
            with_name(on_click=go_to, args=(position, (*way, name)))
    pages.show()


@repeat_if_aborted
def go_to(position: str, way: tuple[str, ...]) -> None:
    """Show the images of an organisation, or the versions of an image."""
    st.session_state[position] = way


def _fetch_answer(query: Callable[..., Any], profile: str, *arguments: str) -> Any:
    answer = query_region(query, profile, *arguments)
    if answer.error:
        show_sentence(answer.error)
    return answer.value


def _show_choices(field: str, profile: str, choices: Callable[[], Iterator[tuple[Any, str]]], store: Store) -> None:
    if not profile:
        return
    key = f"choose-{field}"
    with st.popover(t("picker.choose"), icon=":material/cloud:", key=key, on_change="rerun") as popover:
        if not popover.open:
            return
        offered = list(choices())
        if not offered:
            st.caption(t("region.nothing"))
        pages = url.Pages(f"{key}-page", len(offered), CHOICES)
        for index, (value, label) in enumerate(offered[pages.offset : pages.offset + CHOICES]):
            arguments = (key, value, store)
            st.button(label, key=f"{key}-{index}", type="tertiary", on_click=choose_value, args=arguments)
        pages.show()
