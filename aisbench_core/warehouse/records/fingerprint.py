"""The fingerprint of a benchmark configuration: one hash over everything that decides what is measured."""

import hashlib

from aisbench_core.model import RunSpec, WorkloadFacts, canonical_json

FORMULA = "aisbench-fingerprint/1"


def fingerprint(spec: RunSpec, facts: WorkloadFacts) -> str:
    """SHA-256 (hex) over everything that decides what is measured, but not on what.

    In it: workload, model, dataset, mode, throughput definition and every parameter that decides speed (epochs,
    batch, precision ...). Not in it: framework version, flavor, node and card counts, because those are the
    dimensions along which people compare; nor code and data hashes, which a comparison lists as differences. Parameters
    that are not known are never equal to known ones.
    """
    return fingerprint_of(
        workload=spec.workload,
        model=facts.model,
        dataset=facts.dataset,
        mode=spec.mode.value,
        throughput_definition=facts.throughput_definition,
        speed_parameters=None if facts.speed_parameters is None else dict(facts.speed_parameters),
    )


def fingerprint_of(**values: object) -> str:
    """The same from stored values."""
    return hashlib.sha256(canonical_json({"formula": FORMULA, **values}).encode()).hexdigest()
