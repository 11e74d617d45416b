"""Preflight without the cloud: checks a spec against its manifest, its profile and its code directory."""

from collections.abc import Sequence
from dataclasses import replace

from aisbench_core.base.messages import Message
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.rule import FindRun, PreflightRule, Subject, rules_in, subject_of
from aisbench_core.domain.preflight.rules import (
    api,
    code,
    container,
    images,
    names,
    paths,
    resources,
    secrets,
    software,
    workload,
)
from aisbench_core.model import ExpectedCost, Finding, Flavor, Level, RunSpec

_MODULES = (workload, secrets, code, images, paths, resources, container, software, api, names)

# Every rule that needs no cloud, in the order of the form.
RULES: tuple[PreflightRule[Subject], ...] = tuple(rule for module in _MODULES for rule in rules_in(vars(module)))

_GRAVITY = (Level.ERROR, Level.WARNING, Level.INFO)


def check_offline(
    spec: RunSpec,
    profile: Profile,
    workloads: Workloads,
    flavors: Sequence[Flavor] = (),
    secrets: JobSecrets | None = None,
    find_run: FindRun = lambda _: None,
) -> list[Finding]:
    """Every finding about a spec, errors first. Sends no requests; reads manifests and the code directory.

    `flavors`: the region's, or empty if unknown. `secrets`: the values of the spec's secrets; None: not checked.
    `find_run`: finds the run that `resume_from` names."""
    earlier = find_run(spec.resume_from) if spec.resume_from else None
    subject = replace(subject_of(spec, profile, workloads, flavors), secrets=secrets, earlier=earlier)
    return worst_first([finding for rule in RULES for finding in rule.findings(subject)])


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """The same findings: errors, then warnings, then infos."""
    return sorted(findings, key=lambda finding: _GRAVITY.index(finding.level))


def estimate_cost(spec: RunSpec, profile: Profile, hours: float) -> float | None:
    """The cost of `hours` of running, in the profile's currency: price x nodes x hours.

    None without a price."""
    price = price_of(spec, profile)
    return None if price is None else price * spec.node_count * hours


def expected_cost(spec: RunSpec, profile: Profile, hours: float | None) -> ExpectedCost:
    """What a launch is expected to cost, by the longest time that it may run; None: it has no limit.

    Rehearsals cost nothing, and dedicated pools nothing beyond themselves."""
    price = price_of(spec, profile)
    if profile.rehearsal or _in_pool(spec, profile) or price == 0:
        return ExpectedCost(0.0)
    if price is None:
        flavor = spec.flavor or profile.flavor
        reason = Message("profile {profile} has no price of {flavor}", profile=profile.name, flavor=flavor)
        return ExpectedCost(None, unknown=reason)
    if hours is None:
        reason = Message("no time limit is set (auto_stop_hours)")
        return ExpectedCost(None, profile.currency, reason)
    return ExpectedCost(price * spec.node_count * hours, profile.currency)


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
