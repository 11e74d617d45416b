"""What a region offers: every request asks the region anew."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from aisbench_core.api.endpoint import ApiCall
from aisbench_core.model import Engine, Frozen, PoolQueue, PricedFlavor, Quota


class RegionQuery(Frozen):
    """Which region."""

    profile: Annotated[str, Field(max_length=200, description="Default: the settings'.")] = ""


def flavors(call: ApiCall) -> Sequence[PricedFlavor]:
    """Instance types, with the profile's prices."""
    return call.core.region_resources.flavors(_profile(call))


def engines(call: ApiCall) -> Sequence[Engine]:
    """Preset images."""
    return call.core.region_resources.engines(_profile(call))


def pools(call: ApiCall) -> Sequence[PoolQueue] | None:
    """Dedicated pools and what waits in them; null if the profile's API cannot list pools."""
    return call.core.region_resources.pool_queues(_profile(call))


def quotas(call: ApiCall) -> Sequence[Quota] | None:
    """How many jobs the project may have, and has; null if the profile's API cannot tell."""
    return call.core.region_resources.quotas(_profile(call))


def _profile(call: ApiCall) -> str:
    query: RegionQuery = call.query
    return call.core.regions.profile(query.profile).name
