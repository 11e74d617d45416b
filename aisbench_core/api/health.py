"""Whether this server can answer requests."""

from aisbench_core.errors import AisbenchError
from aisbench_core.wiring import Core


def readiness(core: Core) -> dict[str, str]:
    """Whether a team's warehouse can be read. Raises AisbenchError if the ledger cannot: nothing is answered then.

    Without a follower runs wait, and without the warehouse results do, but runs are launched, shown and stopped: no
    proxy turns away. Who asks has no token, so the reason stands on Health."""
    core.ledger.last_beat()
    if not core.settings.has_team_warehouse:
        return {"status": "ready"}
    return {"status": "ready", "warehouse": "available" if _answers(core) else "unavailable"}


def _answers(core: Core) -> bool:
    try:
        core.warehouse.revision()
    except AisbenchError:
        return False
    return True
