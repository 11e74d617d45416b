"""What a region offers for training: flavors with prices, engines, pools with their queues, and quotas."""

from collections.abc import Sequence
from dataclasses import dataclass

from aisbench_core.cloud.ports import Connect
from aisbench_core.model import Engine, PoolQueue, PricedFlavor, Quota, WaitingJob
from aisbench_core.regions import Regions


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

    def pools(self, profile: str) -> list[PoolQueue] | None:
        """The dedicated pools and what waits in them, by a request for each pool; None if the API cannot list pools."""
        training = self.interactive(profile).training
        pools = training.pools()
        if pools is None:
            return None
        return [PoolQueue(pool, _queue(training.waiting(pool.pool_id))) for pool in pools]

    def quotas(self, profile: str) -> Sequence[Quota] | None:
        """How many jobs the project may have, and has; None if the API cannot tell."""
        return self.interactive(profile).training.quotas()


def _queue(waiting: Sequence[WaitingJob] | None) -> tuple[WaitingJob, ...] | None:
    return None if waiting is None else tuple(waiting)
