"""What Configure begins with: a spec that can be launched as it is, and the flavors that a region offers."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.authoring.workloads import Workload
from aisbench_core.errors import AisbenchError, ConfigError
from aisbench_core.messages import Message
from aisbench_core.model import Flavor, RunSpec
from pages._ui.shell.core import core

ASK_AGAIN = 10
"""Seconds until a region that could not be asked for its flavors is asked again."""


def first_spec(profile: str) -> RunSpec:
    """A spec for a workload that needs nothing from the person, on all cards of the profile's own flavor.

    Raises ConfigError if there is no workload."""
    workload = first_workload(core().workloads.all())
    if not profile:
        return RunSpec(workload=workload)
    own = core().regions.profile(profile).flavor
    flavors = known_flavors(profile)[0] or core().regions.last_flavors(profile)
    cards = [flavor.cards for flavor in flavors if flavor.flavor_id == own and flavor.cards is not None]
    return RunSpec(workload=workload, flavor=own, cards_per_node=cards[0] if cards else 1)


def profile_in_url() -> str:
    """The profile that a page shows: the URL's, else the settings', else the first; empty when there is none."""
    names = core().regions.names()
    for name in (st.query_params.get("profile", ""), core().settings.profile):
        if name in names:
            return name
    return names[0] if names else ""


def first_workload(known: Sequence[Workload]) -> str:
    """The name of a workload that can be launched as it is, if there is any; otherwise of the first one."""
    complete = [each for each in known if each.ships_code and each.dataset.optional and not each.is_own]
    measuring = [each for each in complete if not each.dataset.synthetic_without]
    names = [each.name for each in (*measuring, *complete, *known)]
    if not names:
        raise ConfigError(Message("there is no workload"), Message("put a folder with a workload.yaml into workloads/"))
    return names[0]


@st.cache_data(ttl=ASK_AGAIN, show_spinner=False)
def known_flavors(profile: str) -> tuple[tuple[Flavor, ...], str]:
    """The flavors of a region, or why there are none.

    Kept for a while, so that typing does not wait for a region that is down."""
    try:
        return tuple(core().regions.flavors(profile)), ""
    except AisbenchError as error:
        return (), error.message
