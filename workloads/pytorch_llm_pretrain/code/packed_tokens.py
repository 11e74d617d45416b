"""Synthetic tokens from a seed: documents without gaps in sequences of one length; NumPy only.

Each sequence has a random stream of its own, so that every rank, and a resumed training, makes just those it needs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sizes import Size

END_OF_DOCUMENT = 0
HELD_OUT = 0  # training steps count from 1; this batch is never trained on
_STRIDE = 7
_JUMPS = 0.25  # share of tokens that do not follow from the one before
_DOCUMENT = 512  # mean length


def make_batch(size: Size, seed: int, step: int, rank: int = 0, ranks: int = 1) -> NDArray[np.int32]:
    """The sequences of a step that a rank trains on, each with the token after its last: (sequences, sequence + 1)."""
    rows = range(rank, size.global_batch, ranks)
    return np.stack([_make_sequence(size.vocab, size.sequence + 1, seed, step, row) for row in rows])


def hash_tokens(size: Size, seed: int, steps: int) -> str:
    """SHA-256 (hex) of all batches to train on, as little-endian int32."""
    digest = hashlib.sha256()
    for step in range(1, steps + 1):
        digest.update(make_batch(size, seed, step).astype("<i4").tobytes())
    return digest.hexdigest()


def _make_sequence(vocabulary: int, length: int, seed: int, step: int, row: int) -> NDArray[np.int32]:
    """Runs of tokens, each a stride after the one before; a run starts at a token of which low ones are frequent."""
    random = np.random.RandomState([seed, step, row])
    place = np.arange(length)
    begins = random.random_sample(length) < _JUMPS
    begins[0] = True
    drawn = random.random_sample(length)
    # Products round alike on every processor, which the power function of NumPy does not promise.
    start = (drawn * drawn * drawn * (vocabulary - 1)).astype(np.int64)
    begun = np.maximum.accumulate(np.where(begins, place, 0))
    tokens = 1 + (start[begun] + _STRIDE * (place - begun)) % (vocabulary - 1)
    tokens[random.random_sample(length) < 1 / _DOCUMENT] = END_OF_DOCUMENT
    return tokens.astype(np.int32)
