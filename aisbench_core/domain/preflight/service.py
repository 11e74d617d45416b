"""Preflight and cost estimates for pages and command line, which name a profile and leave the rest to this."""

from dataclasses import dataclass, replace

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Profile, Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.costs import estimate_cost
from aisbench_core.domain.preflight.offline import check_subject
from aisbench_core.domain.preflight.online import OnProgress, check_online, no_progress
from aisbench_core.domain.preflight.rule import FindRun, Subject, subject_of
from aisbench_core.model import Finding, Level, RunSpec


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run would cost: the user's own price per node hour, times nodes, times hours."""

    total: float
    """In `currency`."""
    price_per_node_hour: float
    """In `currency`; null without a price."""
    currency: str


class Preflight:
    """Findings about specs, errors first. `profile`: empty means that of the settings; all raise ConfigError."""

    def __init__(
        self,
        settings: Settings,
        workloads: Workloads,
        regions: Regions,
        secrets: JobSecrets,
        interactive: Connect,
        find_run: FindRun,
    ) -> None:
        self._settings = settings
        self._workloads = workloads
        self._regions = regions
        self._secrets = secrets
        self._interactive = interactive
        self._find_run = find_run

    def offline(self, spec: RunSpec, profile: str = "") -> list[Finding]:
        """Findings that need no request."""
        return check_subject(self._describe_subject(spec, self._regions.profile(profile)))

    def complete_spec(self, spec: RunSpec, profile: Profile) -> RunSpec:
        """The spec as it is launched, with the defaults of manifest and profile. Raises SpecError with every error."""
        subject = self._describe_subject(spec, profile)
        errors = [finding for finding in check_subject(subject) if finding.level is Level.ERROR]
        if errors:
            problems = [Problem(finding.field, finding.sentence) for finding in errors]
            raise SpecError(Message("this cannot be launched"), problems)
        return subject.spec

    def online(self, spec: RunSpec, profile: str = "", on_progress: OnProgress = no_progress) -> list[Finding]:
        """Findings of the region, within the setting `look_seconds`. Raises CloudError when it cannot be reached."""
        chosen = self._regions.profile(profile)
        cloud = self._interactive(chosen.name, subject_of(spec, chosen, self._workloads).spec.api)
        seconds = self._settings.look_seconds
        return check_online(spec, cloud, self._workloads, seconds, on_progress)

    def estimate(self, spec: RunSpec, profile: str, hours: float) -> Cost | None:
        """The cost of that many hours; None when the profile has no price for the flavor."""
        chosen = self._regions.profile(profile)
        total = estimate_cost(spec, chosen, hours)
        if total is None:
            return None
        return Cost(total, chosen.price_per_node_hour[spec.flavor or chosen.flavor], chosen.currency)

    def _describe_subject(self, spec: RunSpec, profile: Profile) -> Subject:
        earlier = self._find_run(spec.resume_from) if spec.resume_from else None
        subject = subject_of(spec, profile, self._workloads, self._regions.known_flavors(profile))
        return replace(subject, secrets=self._secrets, earlier=earlier)
