"""The catalogue of chips: found by what tools print, extended by a lab's file, and honest about what it lacks."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.domain.llm.chips import PeakOrigin, Precision, explain_missing_peak, parse_precision, read_chips

PRINTED = {
    "NVIDIA H100 80GB HBM3": "NVIDIA H100 SXM",
    "NVIDIA H100 PCIe": "NVIDIA H100 PCIe",
    "NVIDIA H200": "NVIDIA H200",
    "NVIDIA H200 NVL": "NVIDIA H200 NVL",
    "NVIDIA-H20": "NVIDIA H20",
    "NVIDIA A100-SXM4-80GB": "NVIDIA A100",
    "Tesla V100-PCIE-16GB": "NVIDIA V100 PCIe",
    "Tesla V100-SXM2-32GB": "NVIDIA V100 SXM2",
    "AMD Instinct MI300X": "AMD Instinct MI300X",
    "Ascend910B3": "Ascend 910B3",
    "910B4-1": "Ascend 910B4",
    "Ascend910_9392": "Ascend 910C",
    "modelarts.bm.npu.arm.8snt9b23.d": "Ascend 910C",
    "modelarts.bm.npu.arm.8snt9b3.d": "Ascend 910B3",
    "modelarts.vm.8xsnt9b": "Ascend 910B",
    "Huawei Ascend 910B": "Ascend 910B",
}


@pytest.mark.parametrize(("printed", "name"), PRINTED.items())
def test_a_chip_is_found_by_what_tools_and_flavors_print(printed: str, name: str) -> None:
    chip = read_chips().find(printed)

    assert chip
    assert chip.name == name


@pytest.mark.parametrize("printed", ["", "CPU", "NVIDIA GB200", "NVIDIA H2000", "modelarts.vm.cpu.8u"])
def test_another_chip_is_not_taken_for_one_of_the_catalogue(printed: str) -> None:
    assert read_chips().find(printed) is None


def test_no_printed_name_stands_for_two_chips() -> None:
    names = [name.lower() for chip in read_chips().chips for name in chip.printed]

    assert sorted(names) == sorted(set(names))


def test_every_chip_has_a_peak_or_says_which_chips_it_may_be() -> None:
    catalogue = read_chips()

    assert [chip.name for chip in catalogue.chips if bool(chip.peaks) is bool(chip.members)] == []
    assert all(catalogue.find(member) for chip in catalogue.chips for member in chip.members)


def test_a_card_of_the_third_generation_has_two_dies() -> None:
    chip = read_chips().find("Snt9b23")

    assert chip
    assert chip.dies_per_card == 2
    assert chip.list_peaks(Precision.BF16)[0].tflops == 353.8944


def test_a_lab_adds_a_chip_and_a_measured_peak_that_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "chips.yaml"
    own.write_text("""
chips:
  - name: Ascend 910B3
    printed: [our 910B3]
    peaks: [{precisions: [bf16], tflops: 288.5, origin: measured, source: our matmul, date: '2026-11'}]
  - {name: Own NPU, printed: [OWN1], peaks: [{precisions: [fp16], tflops: 9, origin: vendor, source: x, date: '2026'}]}
""")

    catalogue = read_chips(own)

    chip = catalogue.find("Ascend910B3")
    assert chip
    assert [peak.origin for peak in chip.list_peaks(Precision.BF16)][:2] == ["measured", "vendor"]
    assert catalogue.find("our 910B3") == chip
    assert catalogue.find("OWN1 rev 2")


def test_a_lab_s_file_with_a_mistake_is_refused_by_field(tmp_path: Path) -> None:
    own = tmp_path / "chips.yaml"
    own.write_text("chips:\n  - {name: X, printed: [x], peaks: [{precisions: [int4], tflops: -1, origin: rumour}]}\n")

    with pytest.raises(SpecError) as refusal:
        read_chips(own)

    fields = {problem.field for problem in refusal.value.problems}
    assert fields == {
        f"chips.0.peaks.0.{name}" for name in ("precisions", "precisions.0", "tflops", "origin", "source", "date")
    }


@pytest.mark.parametrize(
    ("text", "precision"),
    [("bf16", "bf16"), ("BFloat16", "bf16"), ("torch.float16", "fp16"), ("float32", "fp32"), ("int8", None)],
)
def test_precisions_are_read_as_people_write_them(text: str, precision: str | None) -> None:
    assert parse_precision(text) == precision


def test_without_a_peak_it_says_why() -> None:
    catalogue = read_chips()

    assert "does not say which chip" in explain_missing_peak(None, "", None, "")
    assert "XPU 1 is not in the catalogue" in explain_missing_peak(None, "XPU 1", None, "")
    assert "Ascend 910B may be 910B1, 910B2, 910B3, 910B4" in explain_missing_peak(
        catalogue.find("Snt9b"), "Snt9b", Precision.BF16, "bf16"
    )
    assert "precision 'int8'" in explain_missing_peak(catalogue.find("H100"), "H100", None, "int8")
    assert "no fp8 peak of NVIDIA A100" in explain_missing_peak(catalogue.find("A100"), "A100", Precision.FP8, "fp8")


def test_a_vendor_s_peak_comes_before_what_frameworks_divide_by() -> None:
    first = [chip.peaks[0].origin for chip in read_chips().chips if chip.peaks]

    assert set(first) == {PeakOrigin.VENDOR}
