"""The system description and the tester's configuration.

The description has the 33 fields that MLPerf requires, the tester's configuration those of upstream's config.json. An
empty field means "not stated".
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import field as value_of
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic.fields import FieldInfo

from aisbench_core.model.spec import Frozen, Mode, RunSpec

MOST_LETTERS = 2000
MOST_COUNT = 1_000_000


class SystemStatus(StrEnum):
    """Whether others can get such a system."""

    NOT_STATED = ""
    ON_PREMISE = "Available on-premise"
    CLOUD = "Available cloud"
    RESEARCH = "Research/Development/Internal"
    PREVIEW = "Preview"


class Division(StrEnum):
    """Which rules the result was made under."""

    NOT_STATED = ""
    CLOSED = "closed"
    OPEN = "open"


def _replace_controls(text: str) -> str:
    """Replace control characters, except line breaks, with blanks."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text).strip()


_Text = Annotated[str, Field(max_length=MOST_LETTERS), AfterValidator(_replace_controls)]
_Count = Annotated[int | None, Field(ge=1, le=MOST_COUNT)]


def _text_field(title: str, description: str, default: str = "") -> Any:
    return Field(default, title=title, description=description)


def _count_field(title: str, description: str) -> Any:
    return Field(None, title=title, description=description)


class SystemDescription(Frozen):
    """The tested system in 33 fields. Text with a quantity carries its unit ("768 GB"); counts are numbers."""

    submitter: _Text = _text_field("Submitter", "Who is responsible for the result.")
    division: Division = _text_field(
        "Division", "closed: the reference's rules; open: changes are allowed.", Division.NOT_STATED
    )
    status: SystemStatus = _text_field("Availability", "Whether others can get such a system.", SystemStatus.NOT_STATED)
    system_name: _Text = _text_field("System name", "What the tested system is called.")
    number_of_nodes: _Count = _count_field("Nodes", "How many servers worked on the job.")
    host_processors_per_node: _Count = _count_field("Processors per node", "Sockets with a CPU in each server.")
    host_processor_model_name: _Text = _text_field("Processor", "Maker and model, as in Kunpeng 920-6426.")
    host_processor_core_count: _Count = _count_field("Cores per processor", "Physical cores of each host processor.")
    host_processor_vcpu_count: _Count = _count_field(
        "vCPUs per node", "Where a cloud sells vCPUs in place of whole processors."
    )
    host_processor_frequency: _Text = _text_field("Processor frequency", "With its unit, as in 2600 MHz.")
    host_processor_caches: _Text = _text_field("Processor caches", "L1, L2 and L3 with their units, in kB or MB.")
    host_processor_interconnect: _Text = _text_field(
        "Processor interconnect", "How the processors of a node are connected."
    )
    host_memory_capacity: _Text = _text_field("Memory per node", "With its unit, as in 768 GB.")
    host_storage_type: _Text = _text_field("Storage", "Where the data set was read from, as in NVMe SSD or OBS.")
    host_storage_capacity: _Text = _text_field("Storage per node", "With its unit, as in 3.2 TB.")
    host_networking: _Text = _text_field("Network", "Adapters of a node with their rate, as in 8 x 100 Gbit/s RoCE.")
    host_networking_topology: _Text = _text_field("Network topology", "How the nodes are connected, as in fat tree.")
    host_memory_configuration: _Text = _text_field("Memory modules", "As in 24 x 32 GB DDR4-2933.")
    accelerators_per_node: _Count = _count_field("Cards per node", "Accelerator cards of a node that the job used.")
    accelerator_model_name: _Text = _text_field("Accelerator", "Maker and model of the card, as in Ascend 910B.")
    accelerator_host_interconnect: _Text = _text_field("Accelerator to host", "As in PCIe 4.0 x16.")
    accelerator_frequency: _Text = _text_field("Accelerator frequency", "With its unit, as in 1000 MHz.")
    accelerator_on_chip_memories: _Text = _text_field(
        "On-chip memories", "Caches and buffers of the card, in kB or MB."
    )
    accelerator_memory_configuration: _Text = _text_field("Card memory type", "As in HBM2.")
    accelerator_memory_capacity: _Text = _text_field("Card memory", "Of one card with its unit, as in 32 GB.")
    accelerator_interconnect: _Text = _text_field("Accelerator interconnect", "Card to card, as in HCCS.")
    accelerator_interconnect_topology: _Text = _text_field(
        "Accelerator topology", "How the cards of a node are connected, as in full mesh of 4."
    )
    cooling: _Text = _text_field("Cooling", "As in air or liquid.")
    hw_notes: _Text = _text_field("Notes on hardware", "Power limits, firmware, anything else that matters.")
    framework: _Text = _text_field("Framework", "With its version.")
    other_software_stack: _Text = _text_field(
        "Software below it", "Image, CANN or CUDA, driver, each with its version."
    )
    operating_system: _Text = _text_field("Operating system", "With its version, as in EulerOS 2.8.")
    sw_notes: _Text = _text_field("Notes on software", "Patches, environment, anything else that matters.")


class TesterConfig(Frozen):
    """Upstream's config.json: the test, and the tester server for its report.

    Nothing is sent there: upstream's server is not public."""

    test_id: _Text = _text_field("Test id", "Given by the tester; `testid` in the file.")
    test_mode: _Text = _text_field("Mode", "training or inference; `Mode` in the file.")
    test_model: _Text = _text_field("Model", "As the tester names it; `Model` in the file.")
    test_division: _Text = _text_field("Division of the test", "As the tester names it; `Divsion` in the file.")
    scenario: _Text = _text_field("Scenario", "As in generic; `Scenario` in the file.")
    test_object_type: _Text = _text_field("Test object", "single or cluster.")
    tester_server_ip: _Text = _text_field("Tester server", "Its address; stored, and never called.")
    tester_server_port: Annotated[int | None, Field(ge=1, le=65535)] = _count_field(
        "Tester's port", "Stored, and never called."
    )


SYSTEM_FIELDS = tuple(SystemDescription.model_fields)
TESTER_FIELDS = tuple(TesterConfig.model_fields)

# All fields of both documents, with title and description.
FIELDS: Mapping[str, FieldInfo] = {**SystemDescription.model_fields, **TesterConfig.model_fields}

# The fields that hold a number; all others hold text.
COUNTS = frozenset(name for name, field in FIELDS.items() if field.default is None)

# All fields of both documents by section, in the order in which people fill them in.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "system": ("submitter", "division", "status", "system_name", "number_of_nodes", "cooling", "hw_notes"),
    "host": tuple(name for name in SYSTEM_FIELDS if name.startswith("host_")),
    "accelerator": tuple(name for name in SYSTEM_FIELDS if name.startswith("accelerator")),
    "software": ("framework", "other_software_stack", "operating_system", "sw_notes"),
    "tester": TESTER_FIELDS,
}


@dataclass(frozen=True, slots=True)
class Stated:
    """Both documents about a run, or for new runs of a profile."""

    system: SystemDescription = value_of(default_factory=SystemDescription)
    tester: TesterConfig = value_of(default_factory=TesterConfig)

    @property
    def values(self) -> dict[str, str | int]:
        """All stated fields by name."""
        values = {**self.system.model_dump(mode="json"), **self.tester.model_dump(mode="json")}
        return {name: value for name, value in values.items() if value not in ("", None)}

    @property
    def count(self) -> int:
        """How many of the 33 fields of the system description are stated."""
        values = self.values
        return sum(name in values for name in SYSTEM_FIELDS)


def stated_of(values: Mapping[str, object]) -> Stated:
    """Both documents from fields by name. Raises pydantic's ValidationError."""
    return Stated(
        SystemDescription.model_validate({name: value for name, value in values.items() if name not in TESTER_FIELDS}),
        TesterConfig.model_validate({name: value for name, value in values.items() if name in TESTER_FIELDS}),
    )


# Fields of the description, and the field of the spec that decides them.
DECIDED_BY: Mapping[str, str] = {
    "system_name": "flavor",
    "number_of_nodes": "node_count",
    "accelerators_per_node": "cards_per_node",
    "other_software_stack": "engine_version",
    "test_object_type": "node_count",
}


def known_from_job(
    spec: RunSpec, framework: str, model: str, accelerator: str, stated: Collection[str] | None = None
) -> Stated:
    """The fields that the job decides; others are empty.

    `stated`: the fields of an imported spec whose values are known; None: all."""
    is_cluster = spec.mode is Mode.CLUSTER and spec.node_count > 1
    version = spec.framework_version if stated is None or "framework_version" in stated else ""
    texts = {
        "system_name": spec.flavor,
        "accelerator_model_name": accelerator,
        "framework": f"{framework} {version}",
        "other_software_stack": spec.image_url or spec.engine_version,
        "test_mode": "training",
        "test_model": model,
        "test_object_type": "cluster" if is_cluster else "single",
    }
    counts = {"number_of_nodes": spec.node_count, "accelerators_per_node": spec.cards_per_node}
    values = {**counts, **{name: text[:MOST_LETTERS] for name, text in texts.items()}}
    unknown = {name for name, field in DECIDED_BY.items() if stated is not None and field not in stated}
    return _parse_cached(tuple((name, value) for name, value in values.items() if name not in unknown))


@lru_cache(maxsize=4096)
def _parse_cached(values: tuple[tuple[str, object], ...]) -> Stated:
    """Validation is slow, and most runs have the same values."""
    return stated_of(dict(values))


def complete_stated(stated: Stated, from_job: Stated) -> Stated:
    """The stated fields, and those from the job that are not stated."""
    return stated_of({**from_job.values, **stated.values})


# Names by the facts of a passport: frameworks, of which the first counts, and what else is told about.
_FRAMEWORKS = {
    "software.mindspore": "MindSpore",
    "software.torch": "PyTorch",
    "software.tensorflow": "TensorFlow",
    "software.jax": "JAX",
    "software.paddlepaddle": "PaddlePaddle",
}
_STACK = {
    "software.cann": "CANN",
    "software.hccl": "HCCL",
    "software.cuda": "CUDA",
    "accelerator.driver": "driver",
    "software.torch-npu": "torch-npu",
    "software.python": "Python",
}
_HARDWARE = {
    "accelerator.firmware": "firmware",
    "accelerator.power_limit_w": "power limit in W",
    "host.governor": "CPU governor",
}
_CACHES = {"host.l1d": "L1d", "host.l1i": "L1i", "host.l2": "L2", "host.l3": "L3"}


def captured_of(facts: Mapping[str, str], image: str) -> Stated:
    """The fields that a passport fills, from its facts; `image`: that of the job, or its engine."""
    stack = _join_facts(facts, _STACK)
    texts = {
        "host_processor_model_name": facts.get("host.cpu", ""),
        "host_processor_frequency": _with_unit(facts.get("host.cpu_mhz", ""), "MHz"),
        "host_processor_caches": _join_facts(facts, _CACHES),
        "host_memory_capacity": _with_unit(facts.get("host.memory_gib", ""), "GiB"),
        "host_networking": facts.get("host.infiniband", ""),
        "accelerator_model_name": facts.get("accelerator.model", ""),
        "accelerator_host_interconnect": _with_unit(facts.get("accelerator.pcie_generation", ""), "", "PCIe "),
        "accelerator_frequency": _with_unit(facts.get("accelerator.clock_mhz", ""), "MHz"),
        "accelerator_memory_capacity": _with_unit(facts.get("accelerator.memory_mb", ""), "MiB"),
        "hw_notes": _join_facts(facts, _HARDWARE),
        "framework": _join_facts(facts, _FRAMEWORKS).partition(", ")[0],
        "other_software_stack": ", ".join(filter(None, (image, stack))) if stack else "",
        "operating_system": facts.get("host.system", ""),
    }
    counts = {
        "host_processors_per_node": facts.get("host.sockets", ""),
        "host_processor_core_count": facts.get("host.cores_per_socket", ""),
        "host_processor_vcpu_count": facts.get("host.cpus", ""),
    }
    whole = {name: int(text) for name, text in counts.items() if text.isdecimal() and 1 <= int(text[:9]) <= MOST_COUNT}
    return _parse_cached(tuple({**whole, **{name: text[:MOST_LETTERS] for name, text in texts.items()}}.items()))


def _join_facts(facts: Mapping[str, str], names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {facts[fact]}" for fact, name in names.items() if facts.get(fact))


def _with_unit(number: str, unit: str, before: str = "") -> str:
    return f"{before}{number} {unit}".strip() if number else ""
