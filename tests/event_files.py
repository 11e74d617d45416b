"""Event files as other programs write them: TensorBoard's own writers, MindSpore, and broken in chosen places."""

import base64
import struct
from io import BytesIO
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary import Writer
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter, masked_crc32c

NAME = "events.out.tfevents.1700000000.host"

MINDSPORE_NAME = "events.out.events.summary.1795578313.0.vm_MS"
# Written by SummaryRecord of MindSpore 2.10.0: five steps of loss (1 / (step + 1)) and train/acc (0.1 x step).
MINDSPORE = base64.b64decode(
    "HAAAAAAAAADIwZUdCayVfXKWwdpBGhFNaW5kU3BvcmUuRXZlbnQ6MUcpvzQsAAAAAAAAAPSuzEUJ2cF8cpbB2kEQACofCgsKBGxv"
    "c3MdAACAPwoQCgl0cmFpbi9hY2MdAAAAAC2rJFEsAAAAAAAAAPSuzEUJLhV9cpbB2kEQASofCgsKBGxvc3MdAAAAPwoQCgl0cmFp"
    "bi9hY2MdzczMPR/qmDksAAAAAAAAAPSuzEUJG1F9cpbB2kEQAiofCgsKBGxvc3Mdq6qqPgoQCgl0cmFpbi9hY2MdzcxMPmIqpBQs"
    "AAAAAAAAAPSuzEUJGKuBcpbB2kEQAyofCgsKBGxvc3MdAACAPgoQCgl0cmFpbi9hY2MdmpmZPsN4qcUsAAAAAAAAAPSuzEUJMa+B"
    "cpbB2kEQBCofCgsKBGxvc3MdzcxMPgoQCgl0cmFpbi9hY2MdzczMPoG22+c="
)


def event(step: int, time: float = 1_700_000_000.0, **values: float) -> bytes:
    """An event with scalars; two underscores in a name stand for a slash."""
    found = [Summary.Value(tag=name.replace("__", "/"), simple_value=value) for name, value in values.items()]
    return bytes(Event(wall_time=time, step=step, summary=Summary(value=found)).SerializeToString())


def file_of(*events: bytes) -> bytes:
    """The records of these events, as TensorBoard writes them."""
    written = BytesIO()
    writer = RecordWriter(written)
    for data in events:
        writer.write(data)
    return written.getvalue()


def header(length: int) -> bytes:
    """The head of a record of any length, with the right checksum."""
    packed = struct.pack("<Q", length)
    return packed + struct.pack("<I", masked_crc32c(packed))


def write_plain(folder: Path, steps: int, tag: str = "train/loss") -> None:
    """A file whose values are plain, as torch.utils.tensorboard writes them: 1 / (step + 1)."""
    writer = EventFileWriter(str(folder))
    for step in range(steps):
        value = Summary.Value(tag=tag, simple_value=1 / (step + 1))
        writer.add_event(Event(wall_time=1_700_000_000 + step, step=step, summary=Summary(value=[value])))
    writer.close()


def write_tensors(folder: Path, steps: int, tag: str = "loss") -> None:
    """A file whose values are tensors, as TensorFlow 2 writes them: 1 / (step + 1)."""
    writer = Writer(str(folder))
    for step in range(steps):
        writer.add_scalar(tag, 1 / (step + 1), step=step)
    writer.close()
