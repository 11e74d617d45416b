"""A console elsewhere, for programs in Python: `aisbench_core.client.Client`."""

from aisbench_core.client.client import ApiProblem, Client

__all__ = ["ApiProblem", "Client"]
