"""What a run usually reaches, asked of the warehouse about a recorded run or a spec before its launch."""

from contextlib import suppress
from dataclasses import dataclass

from aisbench_core.base.errors import AisbenchError
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.model import RunSpec
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.expected import CHIP, SHARED, ExpectedSpeed, Likeness
from aisbench_core.warehouse.values.runs import RunRow


@dataclass(frozen=True, slots=True)
class Expectations:
    """Bands of what is normal. Threads may share it."""

    warehouse: Warehouse
    workloads: Workloads
    regions: Regions

    def find_of_run(self, row: RunRow | None) -> ExpectedSpeed | None:
        """Whether a recorded run is normal; None without a throughput, or while the warehouse cannot be read."""
        with suppress(AisbenchError):
            return self.warehouse.runs.expect_run(row) if row else None
        return None

    def find_of_spec(self, spec: RunSpec, profile: str = "") -> ExpectedSpeed | None:
        """What a run of the spec would usually reach; None for one that cannot be completed, or as above."""
        with suppress(AisbenchError):
            chosen = self.regions.profile(profile)
            filled = subject_of(spec, chosen, self.workloads).spec
            return self.warehouse.runs.expect_spec(self._describe(filled, chosen), filled)
        return None

    def _describe(self, spec: RunSpec, profile: Profile) -> Likeness:
        facts = self.workloads.get(spec.workload).facts(spec)
        flavor = next((each for each in self.regions.known_flavors(profile) if each.flavor_id == spec.flavor), None)
        known = {
            "accelerator": (flavor.product or flavor.accelerator) if flavor else "",
            "rehearsal": profile.rehearsal,
        }
        stated = {
            name: getattr(spec if name in RunSpec.model_fields else facts, name)
            for name in (*SHARED, *CHIP)
            if name not in known
        }
        return Likeness(known | stated, synthetic_data=None, speed_parameters=facts.speed_parameters)
