"""Whether this server can answer requests."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from aisbench_core.base.errors import AisbenchError
from aisbench_core.wiring import Core

WAREHOUSE_SECONDS = 5.0  # proxies give a probe little more


class WarehouseProbe:
    """Whether a team's warehouse answers, asked by one thread: where packets are dropped, that takes minutes."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "api-warehouse")
        self._lock = threading.Lock()
        self._query: Future[bool] | None = None

    def is_available(self, ask: Callable[[], bool], seconds: float = WAREHOUSE_SECONDS) -> bool:
        """Waits for so long; a question that is still open counts as no answer."""
        with self._lock:
            if self._query is None or self._query.done():
                self._query = self._thread.submit(ask)
            query = self._query
        try:
            return query.result(seconds)
        except TimeoutError:
            return False


def check_readiness(core: Core, warehouse: WarehouseProbe) -> dict[str, str]:
    """Whether a team's warehouse can be read. Raises AisbenchError if the ledger cannot: nothing is answered then.

    Without a follower runs wait, and without the warehouse results do, but runs are launched, shown and stopped: no
    proxy turns away. Who asks has no token, so the reason stands on Health."""
    core.ledger.last_beat()
    if not core.settings.has_team_warehouse:
        return {"status": "ready"}
    is_available = warehouse.is_available(lambda: _can_read_warehouse(core))
    return {"status": "ready", "warehouse": "available" if is_available else "unavailable"}


def _can_read_warehouse(core: Core) -> bool:
    try:
        core.warehouse.revision()
    except AisbenchError:
        return False
    return True
