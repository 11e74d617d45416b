"""What a run costs: the price of a node hour that its profile states, times nodes, times hours."""

from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Profile
from aisbench_core.model import ExpectedCost, RunSpec


def estimate_cost(spec: RunSpec, profile: Profile, hours: float) -> float | None:
    """The cost of `hours` of running, in the profile's currency: price x nodes x hours.

    None without a price."""
    price = price_of(spec, profile)
    return None if price is None else price * spec.node_count * hours


def expected_cost(spec: RunSpec, profile: Profile) -> ExpectedCost:
    """What a launch is expected to cost, by its time limit, because a person's estimate ends no job.

    Rehearsals cost nothing, and dedicated pools nothing beyond themselves."""
    price = price_of(spec, profile)
    if profile.rehearsal or _in_pool(spec, profile) or price == 0:
        return ExpectedCost(0.0)
    if price is None:
        flavor = spec.flavor or profile.flavor
        reason = Message("profile {profile} has no price of {flavor}", profile=profile.name, flavor=flavor)
        return ExpectedCost(None, unknown=reason)
    if spec.auto_stop_hours is None:
        reason = Message("no time limit is set (auto_stop_hours)")
        return ExpectedCost(None, profile.currency, reason)
    return ExpectedCost(price * spec.node_count * spec.auto_stop_hours, profile.currency)


def price_of(spec: RunSpec, profile: Profile) -> float | None:
    """The profile's price of a node hour, in its currency.

    None for rehearsals, which cost nothing, without a price for the flavor, and in a dedicated pool, which is paid for
    separately."""
    return (
        None
        if _in_pool(spec, profile) or profile.rehearsal
        else profile.price_per_node_hour.get(spec.flavor or profile.flavor)
    )


def _in_pool(spec: RunSpec, profile: Profile) -> bool:
    return bool(spec.pool_id or (profile.pool_id and not spec.flavor))
