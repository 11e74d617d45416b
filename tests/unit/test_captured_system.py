"""The system description fills itself from a run's passport, and says where it is contradicted."""

from dataclasses import replace

import pytest

from aisbench_core.model import Passport, RunRecord, Stated, stated_of
from aisbench_core.running.systems.agreement import are_contradictory
from aisbench_core.running.systems.descriptions import SystemValues
from tests import records as a
from tests.unit.test_passport import NODE, read


def captured_record(run_id: str = "run-1") -> RunRecord:
    return replace(a.record(run_id), passport=Passport(1, 1, read(NODE).facts))


def described(**stated: str | int) -> SystemValues:
    record = captured_record()
    return SystemValues(stated_of(stated), record.system_from_job, record.system_captured)


def test_fields_that_were_captured_are_filled_and_marked() -> None:
    found = described(cooling="air", operating_system="EulerOS 2.0")
    values = found.merged.values

    assert {name: values[name] for name in sorted(found.captured_fields)} == {
        "accelerator_frequency": "1800 MHz",
        "accelerator_memory_capacity": "32768 MiB",
        "accelerator_model_name": "910B4",
        "framework": "PyTorch 2.1.0",
        "host_memory_capacity": "1510 GiB",
        "host_networking": "200 Gb/sec (4X HDR) × 8",
        "host_processor_caches": "L3 192 MiB",
        "host_processor_core_count": 48,
        "host_processor_frequency": "2600.0000 MHz",
        "host_processor_model_name": "Kunpeng-920",
        "host_processor_vcpu_count": 192,
        "host_processors_per_node": 4,
        "hw_notes": "firmware 7.5.0.5.220, CPU governor performance",
        "other_software_stack": "mindspore_1.10.0-cann_6.0.1-py_3.7-euler_2.8.3-aarch64, CANN 8.0.RC2, "
        "HCCL 7.3.0.1.231, driver 24.1.1, torch-npu 2.1.0.post6, Python 3.9.10",
    }
    assert values["cooling"] == "air"
    assert values["operating_system"] == "EulerOS 2.0"  # stated, though more was captured
    assert "system_name" in found.job_fields
    assert found.counted == (19, 33)
    assert found.findings == ()


def test_what_contradicts_the_nodes_is_a_finding() -> None:
    found = described(host_memory_capacity="768 GB", accelerator_model_name="Ascend 910A", number_of_nodes=2)

    assert [(finding.rule, finding.field) for finding in found.findings] == [
        ("system.captured", "host_memory_capacity"),
        ("system.captured", "accelerator_model_name"),
        ("system.job", "number_of_nodes"),
    ]
    assert str(found.findings[0].message) == "768 GB is stated, and 1510 GiB was captured"


@pytest.mark.parametrize(
    ("stated", "captured", "expected"),
    [
        ("768 GB", "754 GiB", False),
        ("768 GB", "503 GiB", True),
        ("2.6 GHz", "2600 MHz", False),
        ("Kunpeng 920", "Kunpeng-920", False),
        ("Kunpeng 920", "Intel(R) Xeon(R) Platinum 8358 CPU", True),
        ("Ascend 910B4", "910B4", False),
        ("CANN 8.0", "image, CANN 8.0.RC2, driver 24.1.1", False),
        ("CANN 7.0", "image, CANN 8.0.RC2, driver 24.1.1", True),
        ("PyTorch 2.1", "PyTorch 2.1.0+cpu", False),
        ("PyTorch 2.2.0", "PyTorch 2.1.0", True),
        (4, 2, True),
        (4, 4, False),
        ("EulerOS 2.8", "EulerOS 2.0 (SP8)", True),
    ],
)  # fmt: skip
def test_shorter_names_and_other_units_are_no_contradiction(
    stated: str | int, captured: str | int, expected: bool
) -> None:
    assert are_contradictory(stated, captured) is expected


def test_a_template_has_nothing_captured() -> None:
    assert SystemValues(Stated(), Stated()).captured_fields == frozenset()
