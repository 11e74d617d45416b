"""What an algorithm of ModelArts holds when a job is created from it: people can change it under the same id."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from aisbench_core.base.errors import AisbenchError
from aisbench_core.cloud.ports import Cloud
from aisbench_core.model import Algorithm, Clock, ResolvedContent, canonical_json, image_name
from aisbench_core.running.resolving.images import resolve_image
from aisbench_core.running.resolving.inputs import resolve_input


@dataclass(frozen=True, slots=True)
class ResolvedAlgorithm:
    """Its code and how that is started, its image where that is named by a tag, and where its code lies on OBS."""

    code: ResolvedContent
    image: ResolvedContent | None = None
    code_path: str = ""


def resolve_algorithm(
    algorithm_id: str, cloud: Cloud, clock: Clock, on_page: Callable[[int], None]
) -> ResolvedAlgorithm:
    """The algorithm now. The hash covers the list of its code's objects, boot file, command, engine and parameters."""
    try:
        algorithm = cloud.training.algorithm(algorithm_id)
    except AisbenchError as error:
        return ResolvedAlgorithm(ResolvedContent.unknown(error.sentence))
    is_image = image_name(algorithm.engine) is not None
    image = resolve_image(cloud.images, algorithm.engine, cloud.profile) if is_image else None
    directory = f"{algorithm.code_path.rstrip('/')}/" if algorithm.code_path else ""
    listed = resolve_input(cloud.objects, directory, clock, on_page) if directory else ResolvedContent()
    if directory and not listed.sha256:
        return ResolvedAlgorithm(listed, image, directory)
    definition = {
        **_to_start_fields(algorithm, directory),
        "engine": (image.sha256 if image else "") or algorithm.engine,
    }
    text = canonical_json({"code": listed.sha256, **definition})
    return ResolvedAlgorithm(replace(listed, sha256=hashlib.sha256(text.encode()).hexdigest()), image, directory)


def _to_start_fields(algorithm: Algorithm, directory: str) -> dict[str, object]:
    boot = algorithm.boot_path.removeprefix(directory)
    return {"boot_file": boot, "command": algorithm.command, "parameters": dict(algorithm.parameters)}
