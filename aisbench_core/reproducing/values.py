"""What is known of a run that others are made after, and of those."""

from dataclasses import dataclass

from aisbench_core.model import RunSpec


@dataclass(frozen=True, slots=True)
class Original:
    """A run that others are made after. `profile` is empty when nobody said it.

    `known`: the only fields of the spec that an imported run tells; None: all of them."""

    run_id: str
    spec: RunSpec
    profile: str
    known: frozenset[str] | None = None
