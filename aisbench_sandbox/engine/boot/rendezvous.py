"""What the nodes of a job share before their programs start: ports of this machine, and a secret."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.engine.ports import role_ports


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """The ports of each role (ps, worker, …), one per node, and a secret that only the job's programs know."""

    ports: dict[str, list[int]]
    secret: str


def arrange_rendezvous(node: Node, roles: Sequence[str]) -> Rendezvous:
    """The job's rendezvous. The first node creates it; the others read its file."""
    # Beside the nodes' directories, which belong to the job's user.
    file = node.root.parent / "agreement.json"
    # No race: one thread starts the nodes of a job, one after the other.
    if not file.exists():
        count = node.job.node_count
        ports = role_ports(len(roles) * count)
        by_role = {role: ports[at * count :][:count] for at, role in enumerate(roles)}
        file.write_text(json.dumps({"ports": by_role, "secret": secrets.token_hex(16)}), "utf-8")
    return Rendezvous(**json.loads(file.read_text("utf-8")))
