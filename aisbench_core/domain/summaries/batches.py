"""Records of scalars that repeat, read many at a time: 1,000 at the cost of one.

Training code writes the same few tags in each step, so that records repeat with other numbers in the same places.
Whatever does not repeat is left to event_files.py and events.py, and read by them one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aisbench_core.domain.summaries.event_files import BrokenFrame, frame_length

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many repetitions are worth it.
FEWEST = 32
# So many records may be between two of the same tag.
MOST_PERIOD = 64

_HEADER, _CHECKSUM = 12, 4
_TIME, _STEP, _SUMMARY, _VALUE, _TAG, _PLAIN = 0x09, 0x10, 0x2A, 0x0A, 0x0A, 0x15
_POLYNOMIAL = 0x82F63B78


@dataclass(frozen=True, slots=True)
class ScalarBatch:
    """Points of one tag, in the order of the file: `steps`, `times` (s since 1970) and `values` are equally long."""

    tag: str
    steps: NDArray[np.int64]
    times: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Repeated records up to the offset `end`; those whose checksum is wrong are left out, and `is_intact` is false."""

    scalars: Sequence[ScalarBatch]
    end: int
    is_intact: bool


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a record has its numbers, as offsets from its first byte. The step has `step_bytes` of 7 bits each."""

    tag: bytes
    length: int
    time: int
    step: int
    step_bytes: int
    value: int

    @property
    def stride(self) -> int:
        return _HEADER + self.length + _CHECKSUM


def find_batch(content: bytes, start: int) -> Batch | None:
    """The records at an offset that repeat at least FEWEST times in this content; None if they do not."""
    import numpy as np  # takes 0.1 s, which commands without curves need not wait for

    period = _find_period(content, start)
    stride = sum(layout.stride for layout in period)
    count = (len(content) - start) // stride if period else 0
    if count < FEWEST:
        return None
    rows = np.frombuffer(content, np.uint8, count * stride, start).reshape(count, stride)
    differs = ((rows ^ rows[0]) & _make_mask(period)).any(axis=1)
    if differs.any():
        rows = rows[: int(differs.argmax())]
    if len(rows) < FEWEST:
        return None
    scalars, is_intact, at = [], True, 0
    for layout in period:
        own = rows[:, at : at + layout.stride]
        intact = _check_sums(own[:, _HEADER:-_CHECKSUM]) == own[:, -_CHECKSUM:].copy().view("<u4")[:, 0]
        is_intact = is_intact and bool(intact.all())
        scalars.append(_read_numbers(layout, own[intact]))
        at += layout.stride
    return Batch(scalars, start + rows.size, is_intact)


def _find_period(content: bytes, start: int) -> list[_Layout]:
    """The records from an offset on until the first of them comes again; none if that takes too long."""
    found: list[_Layout] = []
    for layout in _iter_layouts(content, start):
        if found and (layout.tag, layout.length) == (found[0].tag, found[0].length):
            return found
        found.append(layout)
        if len(found) > MOST_PERIOD:
            break
    return []


def _iter_layouts(content: bytes, at: int) -> Iterator[_Layout]:
    while (layout := _read_layout(content, at)) is not None:
        yield layout
        at += layout.stride


def _read_layout(content: bytes, at: int) -> _Layout | None:
    """The layout of a record with time, step and one plain value; None of any other record."""
    try:
        length = frame_length(content[at : at + _HEADER])
        begin = at + _HEADER
        if at + _HEADER + length + _CHECKSUM > len(content) or content[begin] != _TIME or content[begin + 9] != _STEP:
            return None
        step = summary = begin + 10
        while content[summary] & 0x80:
            summary += 1
        summary += 1
        value, tag = summary + 2, summary + 4
        size = content[tag + 1]
        plain = tag + 2 + size
        end = begin + length
        keys = (content[summary], content[value], content[tag], content[plain])
        lengths = (content[summary + 1], content[value + 1], size)
    except (BrokenFrame, struct.error, IndexError):
        return None
    # Lengths of more than one byte have the high bit, and fit none of these.
    fits = lengths[0] == end - value and lengths[1] == end - tag and plain + 5 == end and max(lengths) < 0x80
    if keys != (_SUMMARY, _VALUE, _TAG, _PLAIN) or not fits or summary - step > 9:
        return None
    return _Layout(content[tag + 2 : plain], length, begin + 1 - at, step - at, summary - step, plain + 1 - at)


def _make_mask(period: Sequence[_Layout]) -> NDArray[np.uint8]:
    """The bits that are the same in each repetition."""
    import numpy as np

    masks = []
    for layout in period:
        mask = np.full(layout.stride, 0xFF, np.uint8)
        mask[layout.time : layout.time + 8] = 0
        mask[layout.step : layout.step + layout.step_bytes] = 0x80
        mask[layout.value : layout.value + 4] = 0
        mask[-_CHECKSUM:] = 0
        masks.append(mask)
    return np.concatenate(masks)


def _read_numbers(layout: _Layout, rows: NDArray[np.uint8]) -> ScalarBatch:
    import numpy as np

    steps = np.zeros(len(rows), np.int64)
    for place in range(layout.step_bytes):
        steps |= (rows[:, layout.step + place].astype(np.int64) & 0x7F) << (7 * place)
    times = rows[:, layout.time : layout.time + 8].copy().view("<f8")[:, 0]
    values = rows[:, layout.value : layout.value + 4].copy().view("<f4")[:, 0].astype(np.float64)
    known = np.isfinite(times)
    return ScalarBatch(layout.tag.decode("utf-8", "replace"), steps[known], times[known], values[known])


def _check_sums(data: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The masked CRC-32C of each row."""
    import numpy as np

    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    sums = np.full(len(data), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(data.T):
        sums = table[(sums ^ column) & 0xFF] ^ (sums >> np.uint32(8))
    sums ^= np.uint32(0xFFFFFFFF)
    return ((sums >> np.uint32(15)) | (sums << np.uint32(17))) + np.uint32(0xA282EAD8)
