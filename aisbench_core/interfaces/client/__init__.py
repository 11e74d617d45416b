"""A console elsewhere, for programs in Python: `aisbench_core.interfaces.client.Client`."""

from aisbench_core.interfaces.client.client import Client
from aisbench_core.interfaces.client.connection import ApiProblem

__all__ = ["ApiProblem", "Client"]
