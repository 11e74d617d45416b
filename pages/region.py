"""Region: what a profile's region offers, what its object store holds, and the jobs in it."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from pages._ui.configure.launch import choose_profile
from pages._ui.configure.upstream_import import show_job_clone
from pages._ui.region.files import show_files
from pages._ui.region.images import show_images
from pages._ui.region.jobs import show_region_jobs, show_stop_job_dialog
from pages._ui.region.nodes import show_nodes
from pages._ui.region.resources import show_algorithms, show_engines, show_flavors, show_pools
from pages._ui.shell import url
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

# One section at a time: each asks the region, which may take seconds.
SECTIONS: Mapping[str, Callable[[str], None]] = {
    "flavors": show_flavors,
    "engines": show_engines,
    "images": show_images,
    "pools": show_pools,
    "nodes": show_nodes,
    "algorithms": show_algorithms,
    "files": show_files,
    "jobs": partial(show_region_jobs, show_clone=show_job_clone),
}

create_heading().title(t("menu.region"))
profile = choose_profile(resets=["page", "waiting", "subscribed", "path", "after", "organisation", "repository", "q"])
titles = {section: t(f"region.{section}") for section in SECTIONS}
resets = ["page", "waiting", "subscribed", "organisation", "repository", "q"]
show = url.choose_option(st.radio, "show", t("region.show"), titles, titles.__getitem__, resets=resets, horizontal=True)
if profile:
    with errors_shown():
        SECTIONS[show](profile)
show_stop_job_dialog()
