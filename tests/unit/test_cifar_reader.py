"""The CIFAR-10 reader takes arrays out of the published pickles, and nothing else."""

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from aisbench_core.config.settings import HOME

CODE = HOME / "workloads" / "pytorch_resnet_cifar" / "code"
TELL = """
import sys
from cifar import load
images = load(sys.argv[1], int(sys.argv[2]), seed=1)
parts = images.training, images.test
print(images.synthetic, images.sha256, *[part.images.shape for part in parts], *[part.labels.sum() for part in parts])
"""


class Python2Pickler(pickle._Pickler):
    """Writes text and bytes as the one kind of string that Python 2 had, like the published files."""

    dispatch: ClassVar[dict[type, Any]] = dict(pickle._Pickler.dispatch)

    def save_string(self, text: str | bytes) -> None:
        """A Python 2 `str`."""
        content = text.encode() if isinstance(text, str) else text
        self.write(pickle.BINSTRING + len(content).to_bytes(4, "little") + content)  # type: ignore[attr-defined]

    dispatch[bytes] = dispatch[str] = save_string


def python2_pickle(value: Any, file: Path) -> None:
    """A pickle of protocol 2 with the module names of the NumPy of that time."""
    with file.open("wb") as output:
        Python2Pickler(output, protocol=2).dump(value)
    file.write_bytes(file.read_bytes().replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))


def published(folder: Path, count: int = 20) -> Path:
    """A small CIFAR-10 with `count` images per file, in the layout of the download."""
    batches = folder / "cifar-10-batches-py"
    batches.mkdir()
    pixels = np.arange(count * 3072, dtype=np.uint32).astype(np.uint8).reshape(count, 3072)
    for name in [*[f"data_batch_{number}" for number in range(1, 6)], "test_batch"]:
        python2_pickle({b"data": pixels, b"labels": [3] * count, b"filenames": [b"x.png"] * count}, batches / name)
    return batches


def load(data_url: str | Path, samples: int = 50_000) -> subprocess.CompletedProcess[str]:
    """What the reader says in a process of its own, as it runs in a job."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", TELL, str(data_url), str(samples)],
        cwd=CODE,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_published_files_are_read_whole(tmp_path: Path) -> None:
    folder = published(tmp_path)
    content = b"".join(file.read_bytes() for file in sorted(folder.iterdir()))

    told = load(tmp_path)

    digest = hashlib.sha256(content).hexdigest()
    assert told.stdout == f"False {digest} (100, 3, 32, 32) (20, 3, 32, 32) 300 60\n", told.stderr


def test_fewer_samples_take_the_first_ones_and_a_fifth_as_many_for_testing(tmp_path: Path) -> None:
    told = load(published(tmp_path), samples=50)

    assert "(50, 3, 32, 32) (10, 3, 32, 32) 150 30" in told.stdout, told.stderr


def test_without_a_data_set_images_are_made_up_and_say_so() -> None:
    told = load("", samples=40)

    assert told.stdout.startswith("True  (40, 3, 32, 32) (8, 3, 32, 32)"), told.stderr


def test_a_directory_without_the_data_set_is_named(tmp_path: Path) -> None:
    told = load(tmp_path)

    assert f"FileNotFoundError: there is no cifar-10-batches-py/test_batch in {tmp_path}" in told.stderr


class Attack:
    """Unpickling this makes a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self._file,)


def test_a_pickle_that_carries_code_is_refused_and_not_run(tmp_path: Path) -> None:
    folder = published(tmp_path)
    trace = tmp_path / "was-here"
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": Attack(trace), b"labels": []}))

    told = load(tmp_path)

    assert "ValueError: test_batch is not a batch of CIFAR-10 (python version)" in told.stderr
    assert "it asks for pathlib" in told.stderr
    assert not trace.exists()


@pytest.mark.parametrize("content", [b"", b"<html>", pickle.dumps([1, 2]), pickle.dumps({b"data": [1]})])
def test_a_file_that_is_something_else_is_named(tmp_path: Path, content: bytes) -> None:
    (published(tmp_path) / "data_batch_2").write_bytes(content)

    told = load(tmp_path)

    assert "ValueError: data_batch_2 is not a batch of CIFAR-10 (python version)" in told.stderr
