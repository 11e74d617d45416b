"""Preflight without the cloud: checks a spec against its manifest, its profile and its code directory."""

from collections.abc import Sequence
from dataclasses import replace

from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.rule import FindRun, PreflightRule, Subject, rules_in, subject_of
from aisbench_core.domain.preflight.rules import (
    api,
    code,
    container,
    images,
    llm,
    names,
    paths,
    resources,
    secrets,
    software,
    workload,
)
from aisbench_core.model import Finding, Flavor, Level, RunSpec

_MODULES = (workload, llm, secrets, code, images, paths, resources, container, software, api, names)

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
    return check_subject(replace(subject_of(spec, profile, workloads, flavors), secrets=secrets, earlier=earlier))


def check_subject(subject: Subject) -> list[Finding]:
    """Every finding about a spec and what is known of its surroundings, errors first."""
    return worst_first([finding for rule in RULES for finding in rule.findings(subject)])


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """The same findings: errors, then warnings, then infos."""
    return sorted(findings, key=lambda finding: _GRAVITY.index(finding.level))
