"""The images that the account keeps in SWR: an organisation, its images, and the versions of one."""

from typing import Any

import streamlit as st

from aisbench_core.formats import size
from aisbench_core.model import ImageVersion, Repository
from pages._ui.region.answers import show_answer
from pages._ui.region.resources import search, show_rows
from pages._ui.shell import url
from pages._ui.shell.core import core
from pages._ui.shell.formats import when
from pages._ui.shell.words import t


def show_images(profile: str) -> None:
    """Images by organisation; of a chosen one its versions, with the names for a spec."""
    organisations = show_answer(core().region_resources.organisations, profile)
    if organisations is None:
        return
    if not organisations:
        st.info(t("region.no_organisations"), icon=":material/bedtime:")
        return
    names = [organisation.name for organisation in organisations]
    resets = ["repository", "page", "q"]
    organisation = url.choice(st.selectbox, "organisation", t("region.organisation"), names, resets=resets, width=320)
    repositories = show_answer(core().region_resources.repositories, profile, organisation)
    if not repositories:
        if repositories is not None:
            st.info(t("region.nothing"), icon=":material/bedtime:")
        return
    titles = {"": t("region.all_images"), **{repository.name: repository.name for repository in repositories}}
    resets = ["page", "q"]
    chosen = url.choice(
        st.selectbox, "repository", t("region.image"), titles, titles.__getitem__, resets=resets, width=480
    )
    if not chosen:
        show_rows(search(repositories, lambda image: (image.name,)), _repository_row, t("region.images"))
        return
    versions = show_answer(core().region_resources.versions, profile, organisation, chosen)
    if versions is not None:
        show_rows(search(versions, lambda version: (version.tag,)), _version_row, t("region.versions"))


def _repository_row(repository: Repository) -> dict[str, Any]:
    return {
        t("region.image"): f"{repository.organisation}/{repository.name}",
        t("region.versions"): repository.versions,
        t("region.size"): size(repository.size),
        t("region.updated"): when(repository.updated_at, "%Y-%m-%d %H:%M") if repository.updated_at else None,
    }


def _version_row(version: ImageVersion) -> dict[str, Any]:
    return {
        t("field.image_url"): version.image,
        t("region.size"): size(version.size),
        t("region.updated"): when(version.updated_at, "%Y-%m-%d %H:%M") if version.updated_at else None,
        t("region.digest"): version.digest or None,
    }
