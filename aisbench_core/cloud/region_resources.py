"""What a region offers for training: flavors with prices, engines, images, pools with their queues, and quotas."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from aisbench_core.cloud.ports import Connect
from aisbench_core.cloud.regions import Regions
from aisbench_core.model import (
    Engine,
    ImageVersion,
    Organisation,
    Pool,
    PoolQueue,
    PricedFlavor,
    Quota,
    Repository,
    WaitingJob,
)

QUEUES_AT_ONCE = 8  # a region refuses many requests at the same time


@dataclass(frozen=True, slots=True)
class RegionResources:
    """Every method asks the region anew, and raises CloudError when it does not answer, ConfigError without a usable
    profile."""

    regions: Regions
    interactive: Connect

    def flavors(self, profile: str) -> list[PricedFlavor]:
        """The instance types, with the profile's own prices."""
        chosen = self.regions.profile(profile)
        prices = chosen.price_per_node_hour
        offered = self.interactive(chosen.name).training.flavors()
        return [PricedFlavor(flavor, prices.get(flavor.flavor_id), chosen.currency) for flavor in offered]

    def engines(self, profile: str) -> Sequence[Engine]:
        """The preset images."""
        return self.interactive(profile).training.engines()

    def pools(self, profile: str) -> Sequence[Pool] | None:
        """The dedicated pools, by one request; None if the API cannot list pools."""
        return self.interactive(profile).training.pools()

    def queues(self, profile: str, *pool_ids: str) -> dict[str, Sequence[WaitingJob] | None]:
        """What waits in each of these pools, by a request for each, a few at a time; None if the API cannot tell."""
        training = self.interactive(profile).training
        with ThreadPoolExecutor(QUEUES_AT_ONCE) as requests:
            return dict(zip(pool_ids, requests.map(training.list_waiting, pool_ids), strict=True))

    def pool_queues(self, profile: str) -> list[PoolQueue] | None:
        """All pools with what waits in each; None if the API cannot list pools."""
        pools = self.pools(profile)
        if pools is None:
            return None
        queues = self.queues(profile, *(pool.pool_id for pool in pools))
        waiting = [queues[pool.pool_id] for pool in pools]
        return [
            PoolQueue(pool, None if jobs is None else tuple(jobs)) for pool, jobs in zip(pools, waiting, strict=True)
        ]

    def organisations(self, profile: str) -> Sequence[Organisation]:
        """The organisations whose images the account may read."""
        return self.interactive(profile).images.organisations()

    def repositories(self, profile: str, organisation: str) -> Sequence[Repository]:
        """The images of an organisation, those that changed last first; at most 1000."""
        return self.interactive(profile).images.repositories(organisation)

    def versions(self, profile: str, organisation: str, repository: str) -> Sequence[ImageVersion]:
        """The versions of an image, newest first; at most 1000."""
        return self.interactive(profile).images.versions(organisation, repository)

    def quotas(self, profile: str) -> Sequence[Quota] | None:
        """How many jobs the project may have, and has; None if the API cannot tell."""
        return self.interactive(profile).training.quotas()
