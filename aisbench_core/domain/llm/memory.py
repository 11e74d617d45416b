"""How much memory of a device the training of a decoder needs, counted from its shape."""

from dataclasses import dataclass

from aisbench_core.domain.llm.flops import Recomputation
from aisbench_core.domain.llm.model_shape import ModelShape

BYTES_PER_WEIGHT = 16
"""Weight, gradient and Adam's two moments, in float32."""

BYTES_PER_LOGIT = 12
"""In bf16 and float32, each with its gradient."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """In bytes. `weights`: with gradients and optimizer; `activations`: with logits."""

    weights: float
    activations: float

    @property
    def total(self) -> float:
        """Without buffers of frameworks and of the exchange."""
        return self.weights + self.activations


def estimate_memory(
    shape: ModelShape, tokens: int, recomputation: Recomputation | None, shards: float, model_parallelism: int = 1
) -> MemoryNeed:
    """Of a device that passes so many tokens at once, in bf16, with attention that stores no scores.

    `shards`: devices that the weights are distributed over; `model_parallelism`: those that share activations."""
    if recomputation is Recomputation.FULL:
        kept = shape.layers * 2 * shape.hidden + _count_layer_bytes(shape)  # each layer's input, and one layer
    else:
        kept = shape.layers * _count_layer_bytes(shape)
    activations = tokens * (kept + BYTES_PER_LOGIT * shape.vocab) / model_parallelism
    return MemoryNeed(BYTES_PER_WEIGHT * shape.parameter_count / shards, activations)


def _count_layer_bytes(shape: ModelShape) -> int:
    """What a layer keeps of a token for the backward pass.

    Measured on the decoder of pytorch_llm_pretrain; fused kernels keep less."""
    heads, kv_heads = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    return 20 * shape.hidden + 16 * heads + 8 * kv_heads + 8 * shape.ffn
