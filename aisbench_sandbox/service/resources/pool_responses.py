"""JSON of dedicated pools: the pool, its nodes, its jobs and its usage."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from aisbench_sandbox.capacity import DedicatedPool
from aisbench_sandbox.catalogue import POOL_FLAVORS, InstanceType
from aisbench_sandbox.engine.rank_tables import get_loopback
from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.service.state.hosts import host_of
from aisbench_sandbox.service.state.resource_responses import machine_json

Json = dict[str, Any]

CARD_NAMES = {"Ascend": "huawei.com/ascend-snt9", "GPU": "nvidia.com/gpu"}
# The SDK names the same cards differently here and for nodes (WorkloadResourceRequirement, NodeResource).
_WORKLOAD_CARDS = {"Ascend": "huawei.com/ascend-1980", "GPU": "nvidia.com/gpu"}
_MADE = "1970-01-01T00:00:00Z"  # the plan has no creation time


def jobs_in(pool: DedicatedPool, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that name this pool."""
    return [job for job in jobs if job.pool == pool.name]


def jobs_by_pool(jobs: Sequence[Job]) -> Mapping[str, list[Job]]:
    """The jobs that name a pool, by its name; in one pass, since there may be hundreds of pools."""
    found: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        if job.pool:
            found[job.pool].append(job)
    return found


def pool_json(pool: DedicatedPool, jobs: Sequence[Job]) -> Json:
    """One pool. `jobs` are those that name it."""
    # A node that is bad and isolated is gone once.
    good = pool.nodes - len(pool.bad | pool.isolated)
    # Rounded up: a node on which one card is in use is not available as a whole.
    busy = -(-_cards_in_use(jobs) // max(1, pool.kind.cards))
    return {
        "apiVersion": "v2",
        "kind": "DedicatedPool",
        "metadata": {
            "name": pool.name,
            "creationTimestamp": _MADE,
            "labels": {
                "os.modelarts/name": pool.name,
                "os.modelarts/workspace.id": "0",
                "os.modelarts/resource.id": pool.name,
            },
            "annotations": {"os.modelarts/description": "a pool of the sandbox", "os.modelarts/billing.mode": "0"},
        },
        "spec": {
            "type": "Dedicate",
            "scope": ["Train"],
            "resources": [_to_count_json(pool, pool.nodes)],
            "network": {"name": "sandbox"},
            "jobFlavors": [flavor.flavor_id for flavor in POOL_FLAVORS.values() if flavor.cards <= pool.kind.cards],
        },
        "status": {
            "phase": "Running",
            "root": pool.name,
            "scope": [{"scopeType": "Train", "state": "Enabled"}],
            # Objects as in the SDK; an example in the documents has lists.
            "resources": {
                "creating": _to_count_json(pool, 0),
                "available": _to_count_json(pool, max(0, good - busy)),
                "abnormal": _to_count_json(pool, len(pool.bad | pool.isolated)),
            },
        },
    }


def nodes_json(pool: DedicatedPool, numbers: Sequence[int], metadata: Json) -> Json:
    """A page of a pool's nodes, by number."""
    items = [_to_node_json(pool, number) for number in numbers]
    return {"apiVersion": "v2", "kind": "NodeList", "metadata": metadata, "items": items}


def workload_json(job: Job, position: int, now: int) -> Json:
    """A job in its pool's list; `position` is its place in the queue, 0 if it does not wait. Durations in s."""
    running = job.running_ms(now)
    required = _to_resources_json(job.flavor, _WORKLOAD_CARDS)
    hosts = [host_of(job, node) for node in range(job.node_count)] if job.phase is JobPhase.RUNNING else []
    return {
        "apiVersion": "v1",
        "kind": "Workload",
        "type": "train",
        "namespace": "sandbox",
        "name": f"modelarts-job-{job.job_id}",
        "jobName": job.name,
        "uid": job.job_id,
        "jobUUID": job.job_id,
        "flavor": job.flavor.flavor_id,
        "status": workload_status(job),
        "userName": "sandbox",
        "resourceRequirement": required,
        "priority": str(job.priority),
        "runningDuration": running // 1000,
        # Seconds; everything that was not running was waiting.
        "pendingDuration": ((job.ended_at or now) - job.created_at - running) // 1000,
        "pendingPosition": position,
        # ms, between durations in s (SDK, Workload).
        "createTime": job.created_at,
        # ModelArts schedules with Volcano: the training guide (5.2.1) speaks of its containers.
        "gvk": "batch.volcano.sh/v1alpha1, Kind=Job",
        "hostIps": ",".join(dict.fromkeys(hosts)),
        "nodes": [{"hostIp": host, "resourceRequirement": required} for host in hosts],
    }


def workload_status(job: Job) -> str:
    """The job's phase in the pool API's words: a job without nodes is in the queue."""
    return "Queue" if job.phase is JobPhase.PENDING else job.phase.value


def usage_json(pool: DedicatedPool, jobs: Sequence[Job], now: int) -> Json:
    """The usage of a pool in cards, cores and GB."""
    info = machine_json(pool.kind)
    all_cards = pool.nodes * pool.kind.cards
    used = _cards_in_use(jobs)
    measured = {"timestamp": format_time(now), "window": "60s"}

    def value(cards: int) -> Json:
        share = cards / max(1, pool.kind.cards)
        return {
            "cpu": f"{share * info['cpu']['core_num']:g}",
            "memory": f"{share * info['memory']['size']:g}Gi",
            **({CARD_NAMES[pool.kind.kind]: str(cards)} if pool.kind.kind in CARD_NAMES else {}),
        }

    table = {
        "allocated": {"value": value(used), **measured},
        "capacity": {"value": value(all_cards), "maxValue": value(all_cards), **measured},
        "available": {"value": value(max(0, all_cards - used)), "maxValue": value(all_cards), **measured},
    }
    return {"table": table, "metadata": {"name": pool.name, "labels": {}}}


def _cards_in_use(jobs: Sequence[Job]) -> int:
    return sum(job.card_count for job in jobs if job.phase in (JobPhase.RUNNING, JobPhase.TERMINATING))


def _to_count_json(pool: DedicatedPool, count: int) -> Json:
    return {"flavor": pool.flavor, "count": count, "maxCount": pool.nodes, "azs": [{"az": "sandbox", "count": count}]}


def _to_node_json(pool: DedicatedPool, number: int) -> Json:
    is_bad = number in pool.bad | pool.isolated
    return {
        "apiVersion": "v2",
        "kind": "Node",
        "metadata": {
            "name": pool.host(number),
            "creationTimestamp": _MADE,
            "labels": {"os.modelarts/resource.id": pool.host(number)},
            "annotations": {},
        },
        "spec": {"flavor": pool.flavor},
        "status": {
            "phase": "Abnormal" if is_bad else "Available",
            "az": "sandbox",
            "privateIp": get_loopback(number),
            "resources": _to_resources_json(pool.kind, CARD_NAMES),
        },
    }


def _to_resources_json(flavor: InstanceType, card_names: Mapping[str, str]) -> Json:
    """What a machine of this type has, in Kubernetes' units; `card_names` has the resource name of its cards."""
    info = machine_json(flavor)
    cards = {card_names[flavor.kind]: str(flavor.cards)} if flavor.kind in card_names else {}
    return {"cpu": str(info["cpu"]["core_num"]), "memory": f"{info['memory']['size']}Gi", **cards}


def format_time(at: int) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
