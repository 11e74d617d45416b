"""Bodies that can be sent as they are, beside the sandbox: the OpenAPI document shows them, and the tests send them."""

from collections.abc import Mapping
from typing import Any

from aisbench_core.warehouse.open.queries import EXAMPLE

_SPEC = {"workload": "quickstart_digits", "flavor": "sandbox.cpu.2cards", "cards_per_node": 2}
_PLAN = {"spec": _SPEC, "node_counts": [1, 2], "repeats": 3, "hours_per_run": 0.1, "budget": 4}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "decline_run": {"reason": "next month"},
    "decline_series": {"reason": "next month"},
    "launch_run": {"spec": _SPEC, "profile": "sandbox"},
    "preflight_spec": {"spec": _SPEC, "profile": "sandbox", "online": True, "hours": 0.5},
    "rename_run": {"name": "warm cache"},
    "write_note": {"note": "with the new driver", "since": None},
    "set_run_aside": {"reason": "node 3 was throttled"},
    "change_tags": {"add": ["release-2.1"], "remove": ["draft"]},
    "launch_series": {"plan": _PLAN, "profile": "sandbox"},
    "plan_series": {"plan": _PLAN, "profile": "sandbox", "online": True},
    "set_series_budget": {"budget": 7.5},
    "put_schedule": {
        "plan": _PLAN, "profile": "sandbox", "cron": "0 2 * * 1-5", "time_zone": "Asia/Shanghai", "weekly_hours": 40.0
    },
    "query_views": {
        "query": EXAMPLE.sql,
        "values": EXAMPLE.values,
    },
}  # fmt: skip
"""By the name of the operation."""
