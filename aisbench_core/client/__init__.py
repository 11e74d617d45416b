"""A console elsewhere, for programs in Python: `aisbench_core.client.Client`."""

from aisbench_core.client.client import Client
from aisbench_core.client.connection import ApiProblem

__all__ = ["ApiProblem", "Client"]
