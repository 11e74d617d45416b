"""Preflight and cost estimates for pages and command line, which name a profile and leave the rest to this."""

from dataclasses import dataclass

from aisbench_core.cloud.ports import Connect
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight import offline
from aisbench_core.domain.preflight.online import OnProgress, check_online, no_progress
from aisbench_core.domain.preflight.rule import FindRun, subject_of
from aisbench_core.model import Finding, RunSpec


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run would cost: the user's own price per node hour, times nodes, times hours."""

    total: float
    price_per_node_hour: float
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
        chosen = self._regions.profile(profile)
        flavors = self._regions.known_flavors(chosen)
        return offline.check_offline(spec, chosen, self._workloads, flavors, self._secrets, self._find_run)

    def online(self, spec: RunSpec, profile: str = "", on_progress: OnProgress = no_progress) -> list[Finding]:
        """Findings of the region, within the setting `look_seconds`. Raises CloudError when it cannot be reached."""
        chosen = self._regions.profile(profile)
        cloud = self._interactive(chosen.name, subject_of(spec, chosen, self._workloads).spec.api)
        seconds = self._settings.look_seconds
        return check_online(spec, cloud, self._workloads, seconds, on_progress)

    def estimate(self, spec: RunSpec, profile: str, hours: float) -> Cost | None:
        """The cost of that many hours; None when the profile has no price for the flavor."""
        chosen = self._regions.profile(profile)
        total = offline.estimate_cost(spec, chosen, hours)
        if total is None:
            return None
        return Cost(total, chosen.price_per_node_hour[spec.flavor or chosen.flavor], chosen.currency)
