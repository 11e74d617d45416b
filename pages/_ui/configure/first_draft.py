"""What New run starts with: a spec that can be launched as it is, and the flavors of a region."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.model import Flavor, RunSpec
from pages._ui.shell.core import core

RETRY_SECONDS = 10  # after so long a region is asked for its flavors again


def first_spec(profile: str) -> RunSpec:
    """A spec that can be launched as it is, on all cards of the profile's own flavor.

    Raises ConfigError if there is no workload."""
    workload = first_workload(core().workloads.all())
    if not profile:
        return RunSpec(workload=workload)
    own = core().regions.profile(profile).flavor
    flavors = list_flavors(profile)[0] or core().regions.last_flavors(profile)
    cards = [flavor.cards for flavor in flavors if flavor.flavor_id == own and flavor.cards is not None]
    return RunSpec(workload=workload, flavor=own, cards_per_node=cards[0] if cards else 1)


def first_workload(workloads: Sequence[Workload]) -> str:
    """The name of a workload that can be launched as it is, if there is any; otherwise of the first one."""

    def rank(workload: Workload) -> int:
        complete = workload.ships_code and workload.dataset.optional and not workload.is_own
        # Last among the complete ones, a workload whose data is synthetic, as that of a language model here is.
        return 2 if not complete else 1 if workload.dataset.synthetic_without or workload.llm else 0

    if not workloads:
        raise ConfigError(Message("there is no workload"), Message("put a folder with a workload.yaml into workloads/"))
    return min(workloads, key=rank).name


@st.cache_data(ttl=RETRY_SECONDS, show_spinner=False)
def list_flavors(profile: str) -> tuple[tuple[Flavor, ...], str]:
    """The flavors of a region, or why they are unknown; cached, as every keystroke would wait for a slow region."""
    try:
        return tuple(core().regions.flavors(profile)), ""
    except AisbenchError as error:
        return (), error.message
