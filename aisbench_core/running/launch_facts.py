"""Facts stored when a run is launched, so that its record does not depend on later edits of workload or profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.authoring.workloads import Workload
from aisbench_core.errors import ResultError
from aisbench_core.messages import Message
from aisbench_core.model import Flavor, Launched, RunSpec, WorkloadFacts
from aisbench_core.private_files import write_whole
from aisbench_core.settings import Profile


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The workload's and the region's facts at launch. `accelerator` is empty if the region did not answer.

    `launched` is None for runs of versions that did not store it."""

    workload: WorkloadFacts
    region: str
    rehearsal: bool
    accelerator: str = ""
    launched: Launched | None = None


_FACTS = TypeAdapter(LaunchFacts)


def launch_facts(
    spec: RunSpec, workload: Workload, profile: Profile, flavors: Sequence[Flavor], reproduces: str = ""
) -> LaunchFacts:
    """The current facts. `reproduces`: the id of the run whose result this one is to repeat."""
    flavor = next((flavor for flavor in flavors if flavor.flavor_id == spec.flavor), None)
    accelerator = (flavor.product or flavor.accelerator) if flavor else ""
    launched = Launched(workload.manifest_sha256, reproduces)
    return LaunchFacts(workload.facts(spec), profile.region, profile.rehearsal, accelerator, launched)


def write_facts(facts: LaunchFacts, file: Path) -> None:
    """Write the facts to a file."""
    write_whole(file, _FACTS.dump_json(facts, indent=2))


def read_facts(file: Path) -> LaunchFacts:
    """Read the facts from a file. Raises ResultError when it is missing or damaged."""
    try:
        return _FACTS.validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ResultError(Message("{file} cannot be read", file=f"{file.parent.name}/{file.name}")) from error
