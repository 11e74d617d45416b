"""The scalars in the data of a record: TensorBoard's events, with the value plain or as a tensor, and MindSpore's.

Only the fields that matter are declared; protobuf skips all others, such as images and graphs.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

_NUMBERS = ("double", "float", "int64", "int32", "bytes")
# Message: fields as (number, type, name); `*` is a repeated one. As in TensorFlow's event.proto, summary.proto and
# tensor.proto, and MindSpore's summary.proto.
_MESSAGES = {
    "Dimension": [(1, "int64", "size")],
    "Shape": [(2, "*Dimension", "dim")],
    "Tensor": [
        *((1, "int32", "dtype"), (2, "Shape", "shape"), (4, "bytes", "content"), (5, "*float", "floats")),
        *((6, "*double", "doubles"), (7, "*int32", "ints"), (10, "*int64", "longs"), (13, "*int32", "halves")),
    ],
    "Value": [(1, "bytes", "tag"), (2, "float", "plain"), (8, "Tensor", "tensor")],
    "Summary": [(1, "*Value", "value")],
    "Event": [(1, "double", "time"), (2, "int64", "step"), (5, "Summary", "summary")],
    "MindSporeValue": [(1, "bytes", "tag"), (3, "float", "plain")],
    "MindSporeSummary": [(1, "*MindSporeValue", "value")],
    "MindSporeEvent": [(1, "double", "time"), (2, "int64", "step"), (5, "MindSporeSummary", "summary")],
}
# Type of a tensor: the field that holds its numbers, and how they are packed in its content.
_TENSORS = {
    1: ("floats", "<f"),
    2: ("doubles", "<d"),
    3: ("ints", "<i"),
    9: ("longs", "<q"),
    19: ("halves", "<e"),
    14: ("halves", ""),  # bfloat16, the first half of a float
}
_BFLOAT16 = 14
_HALF = 19


@dataclass(frozen=True, slots=True)
class Scalar:
    """One point of a curve. `time`: seconds since 1970; `value` may be NaN or infinite."""

    tag: str
    step: int
    time: float
    value: float


def read_scalars(data: bytes, *, mindspore: bool = False) -> list[Scalar] | None:
    """The scalars of one event, none if it holds something else; None if the data is no event."""
    from google.protobuf.message import DecodeError

    event = _message_types()["MindSporeEvent" if mindspore else "Event"]()
    try:
        event.ParseFromString(data)
    except DecodeError:
        return None
    return list(_iterate_scalars(event))


def _iterate_scalars(event: Any) -> Iterator[Scalar]:
    for value in event.summary.value:
        number = value.plain if value.HasField("plain") else _of_tensor(value)
        if number is not None and math.isfinite(event.time):
            yield Scalar(value.tag.decode("utf-8", "replace"), event.step, event.time, number)


def _of_tensor(value: Any) -> float | None:
    """The number in a tensor of one element; None for other tensors."""
    if "tensor" not in value.DESCRIPTOR.fields_by_name or not value.HasField("tensor"):
        return None
    tensor = value.tensor
    if tensor.dtype not in _TENSORS or any(dim.size != 1 for dim in tensor.shape.dim):
        return None
    field, form = _TENSORS[tensor.dtype]
    numbers: Sequence[float] = getattr(tensor, field)
    if len(numbers) == 1:
        return _from_bits(tensor.dtype, int(numbers[0])) if field == "halves" else float(numbers[0])
    if tensor.dtype == _BFLOAT16 and len(tensor.content) == 2:
        return _from_bits(_BFLOAT16, int.from_bytes(tensor.content, "little"))
    if form and len(tensor.content) == struct.calcsize(form):
        return float(struct.unpack(form, tensor.content)[0])
    return None


def _from_bits(dtype: int, bits: int) -> float:
    two = (bits & 0xFFFF).to_bytes(2, "little")
    return float(struct.unpack("<e", two)[0] if dtype == _HALF else struct.unpack("<f", b"\0\0" + two)[0])


@cache
def _message_types() -> dict[str, Any]:
    from google.protobuf import descriptor_pool, message_factory
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

    file = FileDescriptorProto(name="events.proto", package="aisbench", syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, kind, field in fields:
            single = kind.removeprefix("*")
            label = FieldDescriptorProto.LABEL_OPTIONAL if single == kind else FieldDescriptorProto.LABEL_REPEATED
            added = message.field.add(name=field, number=number, label=label)
            if single in _NUMBERS:
                added.type = getattr(FieldDescriptorProto, f"TYPE_{single.upper()}")
            else:
                added.type, added.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".aisbench.{single}"
    pool = descriptor_pool.DescriptorPool()  # of our own: TensorBoard's own types have similar names
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"aisbench.{name}"))
        for name in ("Event", "MindSporeEvent")
    }
