"""Whether this server can answer requests."""

from aisbench_core.wiring import Core


def require_ready(core: Core) -> None:
    """Raises AisbenchError if the ledger cannot be read.

    Without a follower runs wait, but everything is answered: an alert on its age says so, and no proxy turns away."""
    core.ledger.last_beat()
