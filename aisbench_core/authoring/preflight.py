"""Preflight: what is wrong with a spec, found before anything is sent to the cloud."""

from collections.abc import Sequence
from dataclasses import replace

from aisbench_core.authoring import (
    preflight_rules_code,
    preflight_rules_names,
    preflight_rules_paths,
    preflight_rules_resources,
    preflight_rules_sdk,
    preflight_rules_secrets,
    preflight_rules_update,
    preflight_rules_v1,
    preflight_rules_workload,
)
from aisbench_core.authoring.rules import PreflightRule, Subject, subject_of
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.model import Finding, Flavor, Level, RunSpec
from aisbench_core.settings import Profile

RULES: tuple[PreflightRule[Subject], ...] = (
    *preflight_rules_workload.RULES,
    *preflight_rules_secrets.RULES,
    *preflight_rules_code.RULES,
    *preflight_rules_paths.RULES,
    *preflight_rules_resources.RULES,
    *preflight_rules_update.RULES,
    *preflight_rules_sdk.RULES,
    *preflight_rules_v1.RULES,
    *preflight_rules_names.RULES,
)
"""Every rule that needs no cloud, in the order of a form."""

_GRAVITY = (Level.ERROR, Level.WARNING, Level.INFO)


def preflight(
    spec: RunSpec,
    profile: Profile,
    workloads: Workloads,
    flavors: Sequence[Flavor] = (),
    secrets: JobSecrets | None = None,
) -> list[Finding]:
    """Every finding about a spec, errors first. It asks no cloud and reads only manifests and the code directory.

    `flavors`: what the region offers, as far as it is known; empty means unknown. `secrets`: where the spec's have
    their values; None means that nobody asks."""
    subject = replace(subject_of(spec, profile, workloads, flavors), secrets=secrets)
    return worst_first([finding for rule in RULES for finding in rule.findings(subject)])


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """The same findings: errors, then warnings, then the rest."""
    return sorted(findings, key=lambda finding: _GRAVITY.index(finding.level))


def estimate(spec: RunSpec, profile: Profile, hours: float) -> float | None:
    """What so many hours of running would cost, in the profile's currency: price x nodes x hours.

    None if the profile has no price for the flavor. A dedicated pool is paid for by itself, so there is none."""
    price = profile.price_per_node_hour.get(spec.flavor or profile.flavor)
    in_pool = spec.pool_id or (profile.pool_id and not spec.flavor)
    return None if price is None or in_pool else price * spec.node_count * hours
