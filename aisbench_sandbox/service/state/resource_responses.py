"""JSON of the region's offer: instance types, preset images, and the machines of dedicated pools."""

import json
from typing import Any

from aisbench_sandbox.catalogue import ENGINES, FLAVORS, InstanceType, has_images_for

Json = dict[str, Any]


def flavor_json(flavor: InstanceType) -> Json:
    """An instance type. CPU types have the attribute `cards`: their processes per node."""
    return {
        "flavor_id": flavor.flavor_id,
        "flavor_name": flavor.name,
        "flavor_type": flavor.kind,
        "max_num": flavor.max_nodes,
        "pool_id": "",
        # A string that holds a JSON list, as in the API.
        "support_engines": json.dumps(
            sorted({engine.name for engine in ENGINES if has_images_for(engine.name, flavor)})
        ),
        "billing": {"code": flavor.flavor_id, "unit_num": 1},
        "flavor_info": machine_json(flavor),
        # Ours: in the cloud, CPU types have no cards, but the console has to know how many processes to expect.
        "attributes": {"cards": str(flavor.cards), "sandbox": "true"},
    }


def machine_json(flavor: InstanceType) -> Json:
    """A node of this type; cores and GB are pretended, cards are real processes."""
    # Per card, near the cloud's machines: 192 cores and 720 GB for 8 NPUs.
    cores, gigabytes = {"Ascend": (24, 90), "GPU": (8, 64)}.get(flavor.kind, (1, 2))
    info: Json = {
        "max_num": flavor.max_nodes,
        "cpu": {"arch": "arm" if flavor.kind == "Ascend" else "x86", "core_num": flavor.cards * cores},
        "memory": {"size": flavor.cards * gigabytes, "unit": "GB"},
        "disk": {"size": 10 if flavor.kind == "CPU" else 3200, "unit": "GB"},
    }
    if flavor.kind == "Ascend":
        # A string for NPUs, a number for GPUs: so the SDK types them (Npu, Gpu).
        info["npu"] = {"unit_num": str(flavor.cards), "product_name": "ascend-snt9", "memory": "32GB"}
    if flavor.kind == "GPU":
        info["gpu"] = {"unit_num": flavor.cards, "product_name": "V100", "memory": "32GB"}
    return info


def card_of(machine: Json) -> Json:
    """The accelerators of a machine; 0 without a name for none."""
    card: Json = machine.get("npu") or machine.get("gpu") or {"unit_num": 0, "product_name": ""}
    # As a number, which both APIs show elsewhere.
    return {**card, "unit_num": int(card["unit_num"])}


def flavors_json(kind: str) -> Json:
    """The instance types of one kind (CPU, GPU, Ascend), or all."""
    flavors = [flavor_json(flavor) for flavor in FLAVORS.values() if kind in ("", flavor.kind)]
    return {"total_count": len(flavors), "flavors": flavors}


def engines_json() -> Json:
    """The preset images."""
    items = [
        {
            "engine_id": engine.version,
            "engine_name": engine.name,
            "engine_version": engine.version,
            "v1_compatible": False,
            "run_user": "1000",
            "image_info": {"cpu_image_url": "", "gpu_image_url": "", "image_version": engine.version},
        }
        for engine in ENGINES
    ]
    return {"total": len(items), "items": items}


def resource_flavor_json(flavor: InstanceType) -> Json:
    """A machine for dedicated pools."""
    info = machine_json(flavor)
    spec: Json = {
        "type": "Dedicate",
        "cpuArch": "arm64" if info["cpu"]["arch"] == "arm" else "x86",
        "cpu": str(info["cpu"]["core_num"]),
        "memory": f"{info['memory']['size']}Gi",
        "billingModes": [0, 1],
        "billingCode": flavor.flavor_id,
        "jobFlavors": ["Train"],
    }
    for kind in ("npu", "gpu"):
        if card := info.get(kind):
            count = str(flavor.cards)
            memory = card["memory"]
            spec[kind] = {"type": card["product_name"], "size": count, "memory": memory, "card": count, "chip": count}
    return {
        "apiVersion": "v1",
        "kind": "ResourceFlavor",
        "metadata": {"name": flavor.flavor_id, "labels": {"os.modelarts/scope": "Train"}, "annotations": {}},
        "spec": spec,
        "status": {"phase": {"sandbox": "normal"}},
    }
