"""MFU and HFU as readings: each says by which formula and against which peak, and converts into the others."""

from collections.abc import Iterable
from dataclasses import dataclass

from aisbench_core.domain.llm.chips import Chip, Peak, Precision
from aisbench_core.domain.llm.flops import FORMULAS, Formula, Recomputation
from aisbench_core.domain.llm.model_shape import ModelShape


@dataclass(frozen=True, slots=True)
class Trained:
    """What was trained: a model, on sequences of a length, in a precision, on a chip."""

    shape: ModelShape
    sequence: int
    precision: Precision
    chip: Chip


@dataclass(frozen=True, slots=True)
class MfuReading:
    """One MFU. `mfu`, `hfu`: shares of the peak; `hfu` None where recomputation is not known."""

    formula: str
    precision: Precision
    peak: Peak
    mfu: float
    hfu: float | None = None

    @property
    def definition(self) -> str:
        """What it has in common with readings it may be ranked with: formula, precision and peak."""
        return f"{self.formula}/{self.precision}/{self.peak.tflops:g}/{self.peak.origin}"


def list_readings(
    trained: Trained, tokens_per_s: float, recomputation: Recomputation | None = None
) -> tuple[MfuReading, ...]:
    """The readings of a rate of tokens per die: by each formula, against each peak of the chip in this precision."""
    return tuple(
        _make_reading(trained, formula, peak, tokens_per_s, recomputation)
        for formula in FORMULAS.values()
        for peak in trained.chip.list_peaks(trained.precision)
    )


def select_ranked(readings: Iterable[MfuReading]) -> tuple[MfuReading, ...]:
    """Of each formula the reading against the peak that counts, which is the first one."""
    first: dict[str, MfuReading] = {}
    for reading in readings:
        first.setdefault(reading.formula, reading)
    return tuple(first.values())


def _make_reading(
    trained: Trained, formula: Formula, peak: Peak, tokens_per_s: float, recomputation: Recomputation | None
) -> MfuReading:
    flops, available = formula.count(trained.shape, trained.sequence), peak.tflops * 1e12
    hfu = None if recomputation is None else flops.of_hardware(recomputation) * tokens_per_s / available
    return MfuReading(formula.id, trained.precision, peak, flops.of_model * tokens_per_s / available, hfu)
