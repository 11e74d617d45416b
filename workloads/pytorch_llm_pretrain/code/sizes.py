"""The sizes of the decoder, each with its sequence, global batch and learning rate, which are fixed."""

from __future__ import annotations

from typing import NamedTuple

STEPS = 50
FIRST_MEASURED = 11  # the steps before warm caches up


class Size(NamedTuple):
    """A decoder and how it is trained. `global_batch`: sequences per step, over all ranks.

    `loss_band`: where the loss on held-out tokens ends, from trainings with many seeds; None: nobody measured it."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    tied_embeddings: bool
    sequence: int
    global_batch: int
    learning_rate: float
    loss_band: tuple[float, float] | None = None


SIZES = {
    "nano": Size(2, 128, 4, 2, 32, 384, 1024, True, 128, 16, 3e-3, (2.1, 2.6)),
    # The shapes of Qwen3-0.6B, -1.7B and -8B.
    "0.6B": Size(28, 1024, 16, 8, 128, 3072, 151936, True, 4096, 128, 3e-4),
    "1.7B": Size(28, 2048, 16, 8, 128, 6144, 151936, True, 4096, 128, 3e-4),
    "8B": Size(36, 4096, 32, 8, 128, 12288, 151936, False, 4096, 128, 3e-4),
}
