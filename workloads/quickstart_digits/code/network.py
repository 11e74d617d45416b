"""A network with one hidden layer, trained by gradient descent with momentum; all in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = 10


class Network:
    """pixels -> hidden units (ReLU) -> ten scores. All weights lie in one flat array, so that ranks can add them up."""

    def __init__(self, inputs: int, hidden: int, seed: int) -> None:
        random = np.random.RandomState(seed)
        self._shapes = ((inputs, hidden), (hidden,), (hidden, CLASSES), (CLASSES,))
        self.weights = np.zeros(sum(int(np.prod(shape)) for shape in self._shapes), np.float32)
        self._velocity = np.zeros_like(self.weights)
        first, _, second, _ = self._layers(self.weights)
        first[:] = random.standard_normal(first.shape) * np.sqrt(2 / inputs)
        second[:] = random.standard_normal(second.shape) * np.sqrt(2 / hidden)

    def scores(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """One score per class, shape (samples, 10)."""
        first, first_bias, second, second_bias = self._layers(self.weights)
        return np.asarray(np.maximum(pixels @ first + first_bias, 0) @ second + second_bias)

    def gradient(self, pixels: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[NDArray[np.float32], float]:
        """The gradient of the mean cross-entropy over these samples, flat like the weights, and that mean."""
        first, first_bias, second, second_bias = self._layers(self.weights)
        hidden = np.maximum(pixels @ first + first_bias, 0)
        scores = hidden @ second + second_bias
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = float(-np.log(shares[rows, labels] + 1e-12).mean())

        shares[rows, labels] -= 1
        error = shares / len(labels)
        hidden_error = (error @ second.T) * (hidden > 0)
        flat = np.empty_like(self.weights)
        parts = self._layers(flat)
        parts[0][:], parts[1][:] = pixels.T @ hidden_error, hidden_error.sum(axis=0)
        parts[2][:], parts[3][:] = hidden.T @ error, error.sum(axis=0)
        return flat, loss

    def step(self, gradient: NDArray[np.float32], learning_rate: float, momentum: float = 0.9) -> None:
        """Move the weights one step down the gradient."""
        self._velocity *= momentum
        self._velocity -= learning_rate * gradient
        self.weights += self._velocity

    def _layers(self, flat: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        parts, start = [], 0
        for shape in self._shapes:
            size = int(np.prod(shape))
            parts.append(flat[start : start + size].reshape(shape))
            start += size
        return parts
