"""CIFAR-10 from its "python version", or made-up images of the same shape; NumPy only."""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "cifar-10-batches-py"
CLASSES = 10
_TRAINING = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"]
_TEST = "test_batch"


class Images:
    """Images as bytes, shape (samples, 3, 32, 32), with labels 0 to 9, for training and for testing."""

    def __init__(self, training: Part, test: Part, sha256: str = "", synthetic: bool = False) -> None:
        self.training = training
        self.test = test
        self.sha256 = sha256
        self.synthetic = synthetic


class Part:
    """Some images and their labels."""

    def __init__(self, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
        self.images = images
        self.labels = labels

    def first(self, count: int) -> Part:
        """The first images of this part, at most `count`."""
        return Part(self.images[:count], self.labels[:count])


def load(data_url: str, training_samples: int, seed: int) -> Images:
    """CIFAR-10 if a directory is given, made-up images otherwise. A fifth as many are for testing.

    Raises FileNotFoundError if the directory holds no CIFAR-10, ValueError if its files hold something else."""
    if not data_url:
        return _made_up(training_samples, seed)
    folder = _folder(Path(data_url))
    digest = hashlib.sha256()
    parts = [_read(folder / name, digest) for name in [*_TRAINING, _TEST]]
    training = Part(
        np.concatenate([part.images for part in parts[:-1]]), np.concatenate([part.labels for part in parts[:-1]])
    )
    return Images(training.first(training_samples), parts[-1].first(training_samples // 5), digest.hexdigest())


def _folder(directory: Path) -> Path:
    for folder in (directory, directory / FOLDER):
        if (folder / _TEST).is_file():
            return folder
    raise FileNotFoundError(f"there is no {FOLDER}/{_TEST} in {directory}; leave data_url out to use made-up images")


def _read(file: Path, digest: hashlib._Hash) -> Part:
    content = file.read_bytes()
    digest.update(content)
    try:
        batch = NumbersOnly(content).load()
        images = np.asarray(batch[b"data"], np.uint8).reshape(-1, 3, 32, 32)
        return Part(images, np.asarray(batch[b"labels"], np.int64))
    except (pickle.UnpicklingError, KeyError, TypeError, ValueError, EOFError) as error:
        raise ValueError(f"{file.name} is not a batch of CIFAR-10 (python version): {error!r}") from error


class NumbersOnly(pickle.Unpickler):
    """Reads pickles that hold arrays, lists and text. Whatever else a pickle asks for, it does not get.

    A pickle can name any function to be called; these files come from a download and a bucket."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")

    def find_class(self, module: str, name: str) -> Any:
        """The few names that arrays are made of."""
        allowed = {
            ("numpy.core.multiarray", "_reconstruct"): _empty_array,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
        }
        if (module, name) not in allowed:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return allowed[(module, name)]


def _empty_array(_kind: type, shape: tuple[int, ...], _dtype: bytes) -> NDArray[np.uint8]:
    return np.ndarray(shape, np.uint8)  # pickle fills it afterwards, by __setstate__


def _made_up(training_samples: int, seed: int) -> Images:
    random = np.random.RandomState(seed)
    # Coarse blocks, so that a pattern moved by a few pixels is still that pattern.
    patterns = np.kron(random.uniform(64, 192, (CLASSES, 3, 4, 4)), np.ones((8, 8))).astype(np.float32)

    def part(count: int) -> Part:
        labels = random.randint(0, CLASSES, count).astype(np.int64)
        noise = random.standard_normal((count, 3, 32, 32)).astype(np.float32) * 64
        return Part(np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), labels)

    return Images(part(training_samples), part(training_samples // 5), synthetic=True)
