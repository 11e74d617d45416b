"""The shape of a dense decoder, from which FLOPs per token follow."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.model import Frozen

Count = Annotated[int, Field(ge=1, le=10_000_000)]

# What Hugging Face's config.json calls them.
_HUGGING_FACE = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "intermediate_size": "ffn",
    "vocab_size": "vocab",
    "tie_word_embeddings": "tied_embeddings",
}
# Its keys that count experts: those models need other formulas.
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


class ModelShape(Frozen):
    """A decoder with grouped-query attention and a gated feed-forward part, as Llama and Qwen are.

    Made from these fields, or from a config.json of Hugging Face, whose other keys are skipped."""

    layers: Annotated[Count, Field(description="decoder layers")]
    hidden: Annotated[Count, Field(description="width of the hidden state")]
    heads: Annotated[Count, Field(description="attention heads")]
    kv_heads: Annotated[
        Count, Field(default=None, validate_default=True, description="heads of keys and values; none: `heads`")
    ]
    head_dim: Annotated[
        Count, Field(default=None, validate_default=True, description="width of a head; none: `hidden` / `heads`")
    ]
    ffn: Annotated[Count, Field(description="width of the gated feed-forward part")]
    vocab: Annotated[Count, Field(description="entries of the vocabulary")]
    tied_embeddings: Annotated[bool, Field(description="whether input and output share one matrix")] = False
    qk_norm: Annotated[bool, Field(description="whether queries and keys are normalised, as in Qwen3")] = False

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        if "num_hidden_layers" in values:
            values = _read_hugging_face(values)
        heads, hidden = values.get("heads"), values.get("hidden")
        filled = {"kv_heads": heads} if heads else {}
        if isinstance(heads, int) and isinstance(hidden, int) and heads > 0 and hidden % heads == 0:
            filled["head_dim"] = hidden // heads
        return filled | {name: value for name, value in values.items() if value is not None}

    @property
    def parameter_count(self) -> int:
        """Weights of the model, norms included, tied matrices once."""
        norms = 2 * self.hidden + (2 * self.head_dim if self.qk_norm else 0)
        embeddings = self.vocab * self.hidden * (1 if self.tied_embeddings else 2)
        return self.layers * (self.count_layer_weights(self.head_dim) + norms) + self.hidden + embeddings

    def count_layer_weights(self, head_dim: int) -> int:
        """Weights of the matrices of one layer, if heads have this width."""
        attention = 2 * self.hidden * (self.heads + self.kv_heads) * head_dim
        return attention + 3 * self.hidden * self.ffn


def _read_hugging_face(config: Mapping[str, Any]) -> dict[str, Any]:
    experts = next((name for name in _EXPERTS if (config.get(name) or 1) != 1), "")
    if experts:
        raise make_refusal(Message("has {name}, but FLOPs are counted of dense decoders only", name=experts))
    values = {ours: config.get(theirs) for theirs, ours in _HUGGING_FACE.items()}
    return {**values, "qk_norm": config.get("model_type") == "qwen3"}
