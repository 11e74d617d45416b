"""FLOPs per token of a training step. The three formulas in use differ by up to 28 %, so each has an id."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.domain.llm.model_shape import ModelShape


class Recomputation(StrEnum):
    """What the backward pass computes again of the forward pass."""

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class TokenFlops:
    """FLOPs of forward and backward pass per token: matrices of the layers, attention, matrices of the vocabulary."""

    matrices: int
    attention: int
    vocabulary: int

    @property
    def of_model(self) -> int:
        """What MFU counts: nothing twice."""
        return self.matrices + self.attention + self.vocabulary

    def of_hardware(self, recomputation: Recomputation) -> float:
        """What HFU counts: the forward pass, a third, again of every layer (full) or of its attention (selective)."""
        match recomputation:
            case Recomputation.NONE:
                again = 0
            case Recomputation.SELECTIVE:
                again = self.attention
            case Recomputation.FULL:
                again = self.matrices + self.attention
        return self.of_model + again / 3


@dataclass(frozen=True, slots=True)
class Formula:
    """Per token: 6 · layers · weights of a layer + `per_attention` · layers · heads · head_dim · sequence
    + 6 · `vocabularies` · vocab · hidden.

    `splits_hidden`: it takes hidden / heads for the width of a head, whatever that is. `used_by`: who computes so."""

    id: str
    per_attention: int
    vocabularies: int
    splits_hidden: bool
    used_by: str

    def count(self, shape: ModelShape, sequence: int) -> TokenFlops:
        """FLOPs per token of sequences of this length."""
        head_dim = shape.hidden // shape.heads if self.splits_hidden else shape.head_dim
        return TokenFlops(
            matrices=6 * shape.layers * shape.count_layer_weights(head_dim),
            attention=self.per_attention * shape.layers * shape.heads * head_dim * sequence,
            vocabulary=6 * self.vocabularies * shape.vocab * shape.hidden,
        )


FORMULAS: Mapping[str, Formula] = {
    formula.id: formula
    for formula in (
        Formula("palm", 12, 1, splits_hidden=False, used_by="PaLM, torchtitan"),
        Formula("causal", 6, 1, splits_hidden=False, used_by="MLPerf, Megatron-LM, MindSpeed-LLM (mcore)"),
        Formula("mindspeed_fsdp2", 12, 2, splits_hidden=True, used_by="MindSpeed-LLM (fsdp2)"),
    )
}
"""By id. `causal` counts the half of attention that a causal mask leaves."""
