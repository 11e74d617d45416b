"""A dense decoder as in Qwen3: RMSNorm, rotary embedding, grouped-query attention with normed heads, SwiGLU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from sizes import Size

ROTARY_BASE = 1_000_000.0
_DEVIATION = 0.02


class RMSNorm(nn.Module):
    """Divides by the root of the mean square, in float32 whatever the input is."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """The same shape and type."""
        exact = values.float()
        normed = exact * torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (normed * self.weight).type_as(values)


class Attention(nn.Module):
    """Causal attention: several query heads share a head of keys and values. Documents of a sequence see each other."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.head_dim = size.head_dim
        self.sharing = size.heads // size.kv_heads
        self.queries = _linear(size.hidden, size.heads * size.head_dim)
        self.keys = _linear(size.hidden, size.kv_heads * size.head_dim)
        self.values = _linear(size.hidden, size.kv_heads * size.head_dim)
        self.output = _linear(size.heads * size.head_dim, size.hidden, size.layers)
        self.query_norm = RMSNorm(size.head_dim)
        self.key_norm = RMSNorm(size.head_dim)
        rates = ROTARY_BASE ** -(torch.arange(0, size.head_dim, 2).float() / size.head_dim)
        angles = torch.outer(torch.arange(size.sequence).float(), rates).repeat(1, 2)
        self.cosines, self.sines = angles.cos(), angles.sin()  # no buffers, which DistributedDataParallel sends around

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Of shape (sequences, tokens, hidden), as is what comes back."""
        queries = self._rotate(self.query_norm(self._split(self.queries(states))))
        keys = self._rotate(self.key_norm(self._split(self.keys(states)))).repeat_interleave(self.sharing, dim=1)
        values = self._split(self.values(states)).repeat_interleave(self.sharing, dim=1)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def _rotate(self, heads: torch.Tensor) -> torch.Tensor:
        first, second = heads.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        length = heads.shape[-2]
        return (heads * self.cosines[:length] + turned * self.sines[:length]).type_as(heads)


class SwiGLU(nn.Module):
    """The feed-forward part: a linear layer gated by another."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.gate = _linear(size.hidden, size.ffn)
        self.up = _linear(size.hidden, size.ffn)
        self.down = _linear(size.ffn, size.hidden, size.layers)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Of shape (sequences, tokens, hidden), as is what comes back."""
        return self.down(functional.silu(self.gate(states)) * self.up(states))


class Block(nn.Module):
    """Attention and feed-forward, each around a norm and added to what came in."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(size.hidden)
        self.attention = Attention(size)
        self.feed_forward_norm = RMSNorm(size.hidden)
        self.feed_forward = SwiGLU(size)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Of shape (sequences, tokens, hidden), as is what comes back."""
        states = states + self.attention(self.attention_norm(states))
        return states + self.feed_forward(self.feed_forward_norm(states))


class Decoder(nn.Module):
    """Tokens to logits. `shard` gets each block as soon as it is made, so that no card ever holds all of them."""

    def __init__(self, size: Size, shard: Callable[[nn.Module], object] = id, recompute: bool = False) -> None:
        super().__init__()
        self.recompute = recompute
        self.embedding = nn.Embedding(size.vocab, size.hidden)
        nn.init.normal_(self.embedding.weight, std=_DEVIATION)
        self.blocks = nn.ModuleList()
        for _ in range(size.layers):
            block = Block(size)
            shard(block)
            self.blocks.append(block)
        self.norm = RMSNorm(size.hidden)
        self.head = None if size.tied_embeddings else _linear(size.hidden, size.vocab)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of shape (sequences, tokens, vocabulary) for tokens of shape (sequences, tokens)."""
        states = self.embedding(tokens)
        for block in self.blocks:
            states = checkpoint(block, states, use_reentrant=False) if self.recompute else block(states)
        states = self.norm(states)
        return functional.linear(states, self.embedding.weight) if self.head is None else self.head(states)


def _linear(inputs: int, outputs: int, layers: int = 0) -> nn.Linear:
    """Without bias. `layers`: of a model to whose states the outputs are added, so they start smaller."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=_DEVIATION / (2 * layers) ** 0.5 if layers else _DEVIATION)
    return layer
