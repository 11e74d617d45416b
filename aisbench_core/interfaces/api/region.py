"""What a region offers: every request asks the region anew."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from aisbench_core.interfaces.api.cursors import PageQuery, page_of
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Engine, PoolQueue, PricedFlavor, Quota


class RegionQuery(PageQuery):
    """Which region, and which page of what it offers."""

    profile: Annotated[str, Field(max_length=200, description="Default: the settings'.")] = ""


@dataclass(frozen=True, slots=True)
class FlavorListing:
    """Instance types, with the profile's prices. `next` is null on the last page."""

    items: Sequence[PricedFlavor]
    next: str | None


@dataclass(frozen=True, slots=True)
class EngineListing:
    """Preset images. `next` is null on the last page."""

    items: Sequence[Engine]
    next: str | None


@dataclass(frozen=True, slots=True)
class PoolListing:
    """Dedicated pools and what waits in them. `items` is null if the profile's API cannot list pools."""

    items: Sequence[PoolQueue] | None
    next: str | None


@dataclass(frozen=True, slots=True)
class QuotaListing:
    """How many jobs the project may have, and has. `items` is null if the profile's API cannot tell."""

    items: Sequence[Quota] | None
    next: str | None


def list_flavors(call: ApiCall) -> FlavorListing:
    """Instance types, with the profile's prices."""
    return FlavorListing(*page_of(call.core.region_resources.flavors(_get_profile_name(call)), call.query))


def list_engines(call: ApiCall) -> EngineListing:
    """Preset images."""
    return EngineListing(*page_of(call.core.region_resources.engines(_get_profile_name(call)), call.query))


def list_pools(call: ApiCall) -> PoolListing:
    """Dedicated pools and what waits in them."""
    found = call.core.region_resources.pool_queues(_get_profile_name(call))
    return PoolListing(None, None) if found is None else PoolListing(*page_of(found, call.query))


def list_quotas(call: ApiCall) -> QuotaListing:
    """How many jobs the project may have, and has."""
    found = call.core.region_resources.quotas(_get_profile_name(call))
    return QuotaListing(None, None) if found is None else QuotaListing(*page_of(found, call.query))


def _get_profile_name(call: ApiCall) -> str:
    query: RegionQuery = call.query
    return call.core.regions.profile(query.profile).name
