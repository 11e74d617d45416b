"""Asks ascend-fd for the faults in logs. A program of its own: it runs with the Python of ascend-fd's environment, 3.7
or newer, which has no other module of the console.

Reads {"servers": [{"name", "modified", "lines"}]} from standard input and writes {"faults": [...], "errors": [...]}.
The functions and their values are documented in ascend-fd's SDK reference (MindCluster, Ascend FaultDiag).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, Iterator

NOTHING_FOUND = "NORMAL_OR_UNSUPPORTED"
MOST_FAULTS = 50  # of one node
MOST_LINES, MOST_LETTERS = 10, 2000
LANGUAGES = ("", "_zh", "_en")


def main() -> None:
    """Answer. What ascend-fd prints goes to standard error, because the answer has standard output."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    servers = json.load(sys.stdin)["servers"]
    json.dump(diagnose_servers(servers), answer)
    answer.close()


def diagnose_servers(servers: list[dict[str, Any]]) -> dict[str, Any]:
    """The faults of all nodes, and what ascend-fd could not do."""
    ascend_fd = importlib.import_module("ascend_fd")
    parsed, errors = ascend_fd.parse_knowledge_graph([log_of(server) for server in servers])
    if not parsed:
        return {"faults": [], "errors": to_texts(errors)}
    results, more = ascend_fd.diag_knowledge_graph(parsed)
    failed = [result.get("err_msgs") or result.get("note") for result in results if not result.get("analyze_success")]
    faults = [fault for result in results for fault in faults_of(result, parsed)]
    return {"faults": faults, "errors": to_texts([*errors, *more, *failed])}


def log_of(server: dict[str, Any]) -> dict[str, Any]:
    """One node's log as `parse_knowledge_graph` takes it."""
    item = {"item_type": "TrainLog", "modification_time": server["modified"], "log_lines": server["lines"]}
    return {"log_domain": {"server": server["name"]}, "log_items": [item]}


def faults_of(result: dict[str, Any], parsed: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The faults of one result, each with the node that it comes from and the lines that show it."""
    found = [fault for fault in result.get("fault") or [] if fault.get("code") != NOTHING_FOUND]
    for fault in found[:MOST_FAULTS]:
        for name in list_sources(fault):
            yield {
                "code": to_text(fault.get("code")),
                "component": to_text(fault.get("component")),
                "module": to_text(fault.get("module")),
                "cause": get_first_text(fault, "cause"),
                "description": get_first_text(fault, "description"),
                "suggestion": get_first_text(fault, "suggestion"),
                "server": name,
                "lines": lines_of(parsed, name, fault.get("code")),
            }


def list_sources(fault: dict[str, Any]) -> list[str]:
    """The nodes of a fault, from "worker-1 device-Unknown"; one without a name if none is said."""
    names = [to_text(source).partition(" ")[0] for source in fault.get("fault_source") or []]
    return sorted(set(names)) or [""]


def get_first_text(fault: dict[str, Any], name: str) -> str:
    """A text in the language that ascend-fd has it in."""
    return next((to_text(fault[name + each]) for each in LANGUAGES if fault.get(name + each)), "")


def lines_of(parsed: list[dict[str, Any]], name: str, code: object) -> list[str]:
    """The lines of a node's log in which parsing found the code."""
    nodes = [node for node in parsed if node.get("server") == name]
    devices = [device for node in nodes for fault in node["fault"] for device in fault.get("response", {}).values()]
    causes = [device.get("root_causes", {}).get(code, {}) for device in devices]
    events = [event for cause in causes for event in cause.get("events_attribute") or []]
    lines = [line for event in events for line in to_text(event.get("key_info")).splitlines() if line.strip()]
    return lines[:MOST_LINES]


def to_text(value: object) -> str:
    """A value of ascend-fd as text: some are lists of lines."""
    joined = "\n".join(str(line) for line in value) if isinstance(value, (list, tuple)) else str(value or "")
    return joined[:MOST_LETTERS]


def to_texts(errors: list[Any]) -> list[str]:
    """What ascend-fd says that it could not do."""
    return [to_text(error) for error in errors if error][:MOST_LINES]


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file, whose modules are not for ascend-fd
    main()
