"""Who acts in tests."""

from aisbench_core.model import Actor, WayIn, local_actor

TESTER = local_actor("tester", WayIn.CLI)


def named(name: str) -> Actor:
    """Somebody else who acts."""
    return local_actor(name, WayIn.CLI)
