"""The digits: 1,797 images of 8 x 8 pixels, read from digits.csv.gz and split the same way everywhere."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np

FILE = "digits.csv.gz"


class Digits:
    """Pixels as float32 between 0 and 1, shape (samples, 64); labels 0 to 9. Every fifth digit is held out."""

    def __init__(self, file: Path) -> None:
        content = file.read_bytes()
        table = np.loadtxt(gzip.decompress(content).decode("ascii").splitlines(), delimiter=",", dtype=np.float32)
        pixels, labels = table[:, :-1] / 16, table[:, -1].astype(np.int64)
        held_out = np.arange(len(table)) % 5 == 0
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.pixels, self.labels = pixels[~held_out], labels[~held_out]
        self.test_pixels, self.test_labels = pixels[held_out], labels[held_out]


def find(data_url: str) -> Path:
    """The file in the given directory, or beside this module if none is given. Raises FileNotFoundError."""
    file = (Path(data_url) if data_url else Path(__file__).resolve().parent) / FILE
    if not file.is_file():
        raise FileNotFoundError(f"there is no {FILE} in {file.parent}")
    return file
