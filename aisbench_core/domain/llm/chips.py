"""Accelerators by the names that tools print, with dies per card and dense peaks: chips.yaml, and a lab's own file."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.model import Frozen

SHIPPED = Path(__file__).with_name("chips.yaml")

Text = Annotated[str, Field(min_length=1, max_length=300)]


class Precision(StrEnum):
    """The number format of matrix products."""

    FP8 = "fp8"
    FP16 = "fp16"
    BF16 = "bf16"
    TF32 = "tf32"
    FP32 = "fp32"


# What a job's flavor says of its cards where nobody described the system.
_KINDS = ("", "Ascend", "GPU", "CPU")

_SPELLINGS = {"float8": "fp8", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32"}


class PeakOrigin(StrEnum):
    """Who says how fast a chip is: its vendor, a measurement, or a training framework that divides by it."""

    VENDOR = "vendor"
    MEASURED = "measured"
    FRAMEWORK = "framework"


class Peak(Frozen):
    """The dense peak of one die in one precision, or in several that are equally fast."""

    precisions: Annotated[
        tuple[Precision, ...], Field(min_length=1, description="any of `fp8`, `fp16`, `bf16`, `tf32`, `fp32`")
    ]
    tflops: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False, description="of one die, never with sparsity")]
    origin: Annotated[PeakOrigin, Field(description="`vendor`, `measured` or `framework` (it divides by it)")]
    source: Annotated[Text, Field(description="where the number is published")]
    date: Annotated[
        str, Field(pattern=r"^\d{4}(-\d\d){0,2}$", description="of the source; of reading it where it has none")
    ]


class Chip(Frozen):
    """One accelerator. `peaks`: the first one of a precision is what MFU is divided by."""

    name: Annotated[Text, Field(description="what pages call it")]
    printed: Annotated[tuple[Text, ...], Field(min_length=1, description="names that tools, flavors and people use")]
    dies_per_card: Annotated[int, Field(ge=1, le=16, description="devices that a framework sees of one card")] = 1
    peaks: Annotated[tuple[Peak, ...], Field(description="dense peaks of one die")] = ()
    members: Annotated[tuple[Text, ...], Field(description="of a family with several peaks: the chips it may be")] = ()

    def list_peaks(self, precision: Precision) -> tuple[Peak, ...]:
        """Its peaks in a precision; the first one counts."""
        return tuple(peak for peak in self.peaks if precision in peak.precisions)


class ChipFile(Frozen):
    """A file of chips."""

    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class Chips:
    """The catalogue."""

    chips: tuple[Chip, ...]

    def find(self, text: str) -> Chip | None:
        """The chip that a text names, such as `NVIDIA H100 80GB HBM3`: the longest printed name in it decides."""
        found = [(len(name), chip) for chip in self.chips for name in chip.printed if _to_pattern(name).search(text)]
        return max(found, key=lambda one: one[0])[1] if found else None

    def choose_name(self, stated: str, flavor: str) -> str:
        """Which text names the chip of a run: its system description, or its flavor where that says more."""
        by_flavor, by_description = self.find(flavor), self.find(stated)
        says_little = stated in _KINDS or (by_description and by_description.members)
        return flavor if by_flavor and says_little else "" if stated in _KINDS else stated


NO_CHIPS = Chips(())


def read_chips(own: Path | None = None) -> Chips:
    """The shipped catalogue and a lab's file; of a chip in both, the lab's peaks come first. Raises SpecError."""
    shipped = _read_file(SHIPPED)
    return Chips(shipped if own is None or not own.is_file() else tuple(_join_chips(shipped, _read_file(own))))


def parse_precision(text: str) -> Precision | None:
    """The precision that a person, a parameter or a framework names; None for others."""
    word = text.strip().lower().removeprefix("torch.")
    word = _SPELLINGS.get(word, word)
    return Precision(word) if word in list(Precision) else None


def explain_missing_peak(chip: Chip | None, named: str, precision: Precision | None, stated: str) -> Message:
    """Why there is no peak to divide by."""
    if chip is None and not named:
        return Message("the run does not say which chip it ran on: state the accelerator in its system description")
    if chip is None:
        return Message("{name} is not in the catalogue of chips: add it to chips.yaml in the data folder", name=named)
    if chip.members:
        return Message("{name} may be {members}: state which", name=chip.name, members=", ".join(chip.members))
    if precision is None:
        return Message("no peak is known for precision {name!r}", name=stated)
    return Message("the catalogue has no {precision} peak of {name}", precision=precision.value, name=chip.name)


def _read_file(file: Path) -> tuple[Chip, ...]:
    return parse_document(ChipFile, read_yaml(file), make_verbatim(file.name)).chips


def _join_chips(shipped: Sequence[Chip], own: Sequence[Chip]) -> Iterable[Chip]:
    by_name = {chip.name: chip for chip in own}
    for chip in shipped:
        ours = by_name.pop(chip.name, None)
        yield (
            chip
            if ours is None
            else ours.model_copy(
                update={"printed": (*ours.printed, *chip.printed), "peaks": (*ours.peaks, *chip.peaks)}
            )
        )
    yield from by_name.values()


@lru_cache(maxsize=512)
def _to_pattern(name: str) -> re.Pattern[str]:
    """The name as a word: `H20` is not in `H200`, `Snt9b23` is in `8snt9b23.d`."""
    words = r"[\s_-]*".join(re.escape(word) for word in name.split())
    before = r"(?<![A-Za-z0-9])" if name[0].isdigit() else r"(?<![A-Za-z])"
    return re.compile(rf"{before}{words}(?![A-Za-z0-9])", re.IGNORECASE)
