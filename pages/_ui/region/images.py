"""The images that the account keeps in SWR: an organisation, its images, and the versions of one."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from aisbench_core.base.formats import format_size
from aisbench_core.model import ImageVersion, Repository
from pages._ui.region.answers import query_region, show_answer
from pages._ui.region.resources import filter_rows, show_rows
from pages._ui.shell import url
from pages._ui.shell.core import core
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

Row = TypeVar("Row")


def show_images(profile: str) -> None:
    """Images by organisation; of a chosen one its versions, with the names for a spec."""
    resources = core().region_resources
    organisations = _list_choices(resources.organisations, profile)
    if not organisations:
        if organisations is not None:
            st.info(t("region.no_organisations"), icon=":material/bedtime:")
        return
    left, right = st.columns(2)
    with left:
        names = [organisation.name for organisation in organisations]
        resets = ["repository", "page", "q"]
        organisation = url.choose_option(st.selectbox, "organisation", t("region.organisation"), names, resets=resets)
    repositories = _list_choices(resources.repositories, profile, organisation)
    if repositories is None:
        return
    titles = {"": t("region.all_images"), **{repository.name: repository.name for repository in repositories}}
    with right:
        resets = ["page", "q"]
        chosen = url.choose_option(
            st.selectbox, "repository", t("region.image"), titles, titles.__getitem__, resets=resets
        )
    if not chosen:
        show_answer(resources.repositories, profile, organisation)
        titles = {
            "image": t("region.image"),
            "versions": t("region.versions"),
            "size": t("region.size"),
            "updated": t("region.updated"),
        }
        found = filter_rows(repositories, lambda image: (image.name,))
        show_rows(found, _repository_row, titles, t("region.images"))
    elif versions := show_answer(resources.versions, profile, organisation, chosen):
        titles = {
            "image": t("field.image_url"),
            "size": t("region.size"),
            "updated": t("region.updated"),
            "digest": t("region.digest"),
        }
        tagged = filter_rows(versions, lambda version: (version.tag,))
        show_rows(tagged, _version_row, titles, t("region.versions"))


def _list_choices(query: Callable[..., Sequence[Row]], *args: str) -> Sequence[Row] | None:
    """What there is to choose from, without the time and *Refresh*, which belong to the table below."""
    answer = query_region(query, *args)
    return show_answer(query, *args) if answer.error else answer.value


def _repository_row(repository: Repository) -> dict[str, Any]:
    return {
        "image": f"{repository.organisation}/{repository.name}",
        "versions": repository.versions,
        "size": format_size(repository.size),
        "updated": format_time(repository.updated_at, "%Y-%m-%d %H:%M") if repository.updated_at else None,
    }


def _version_row(version: ImageVersion) -> dict[str, Any]:
    return {
        "image": version.image,
        "size": format_size(version.size),
        "updated": format_time(version.updated_at, "%Y-%m-%d %H:%M") if version.updated_at else None,
        "digest": version.digest or None,
    }
