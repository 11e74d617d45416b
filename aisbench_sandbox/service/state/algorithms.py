"""Validates the algorithm of a create request: engine or image, command, and the directories in the container."""

import posixpath
from collections.abc import Mapping
from typing import Any

from aisbench_sandbox.catalogue import ENGINES, InstanceType, find_engine, has_images_for
from aisbench_sandbox.refusals import Refused

DEFAULT_CODE_DIR = "/home/ma-user/modelarts/user-job-dir"
# Forbidden in the SDK (JobAlgorithm.local_code_dir); the older API reference has the rule of /home only.
_RESERVED_DIRS = ("/home/ma-user/modelarts", "/home/ma-user/modelarts-dev", "/home/ma-user/infer")


def completed_engine(algorithm: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """The engine block, completed as the cloud does. Raises Refused.

    An image beside a preset engine's name is started with that engine's boot method."""
    command, image = algorithm.get("command"), engine.get("image_url")
    name = str(engine.get("engine_name") or "")
    if image and not command and name in {preset.name for preset in ENGINES}:
        # Training guide 3.4, "preset framework + custom image": the image is the user's, everything else is the
        # engine's.
        return {"engine_version": "", **engine}
    if bool(command) != bool(image):
        raise Refused(400, "ModelArts.2806", "A custom image needs both algorithm.command and engine.image_url.")
    if image:
        _check_command(command)
        return dict(engine)
    # A preset image is named by its id, or by name and version.
    wanted = [str(engine.get(key) or "") for key in ("engine_id", "engine_name", "engine_version")]
    preset_image = find_engine(*wanted)
    if preset_image is None:
        requested = " ".join(word for word in wanted if word) or "none"
        raise Refused(400, "ModelArts.2780", f"The engine does not exist: {requested}.", "See training-job-engines.")
    return {
        **engine,
        "engine_id": preset_image.version,
        "engine_name": preset_image.name,
        "engine_version": preset_image.version,
    }


def check_fit(engine: Mapping[str, Any], flavor: InstanceType) -> None:
    """Raises Refused if the preset engine has no images for these accelerators."""
    name = engine.get("engine_name")
    if name and not has_images_for(name, flavor):
        message = f"The engine {name} does not support the flavor {flavor.flavor_id} ({flavor.kind})."
        raise Refused(400, "ModelArts.2840", message, "See training-job-flavors.")


def check_directories(algorithm: Mapping[str, Any]) -> None:
    """Raises Refused for directories in the container where code cannot be put, or no program can start."""
    code_dir, working_dir = algorithm.get("local_code_dir"), algorithm.get("working_dir")
    if code_dir and not _may_hold_code(code_dir):
        solution = f"Use a directory below /home, but not /home/ma-user itself nor {', '.join(_RESERVED_DIRS)}."
        raise Refused(400, "ModelArts.2857", f"Invalid local_code_dir: {code_dir}.", solution)
    if working_dir and not _is_absolute(working_dir):
        raise Refused(400, "ModelArts.2859", f"Invalid working_dir: {working_dir}.", "Use an absolute path.")


def _check_command(command: object) -> None:
    # The manual for custom images forbids line breaks and allows `;` and `&&`.
    if not isinstance(command, str) or "\n" in command or "\r" in command or "\0" in command:
        allowed = "one line; several commands are joined with ; or &&"
        raise Refused(400, "ModelArts.2788", "Invalid parameter: algorithm.command.", f"Allowed: {allowed}.")


def _may_hold_code(path: object) -> bool:
    if not isinstance(path, str) or not _is_absolute(path):
        return False
    tidy = posixpath.normpath(path)
    is_reserved = tidy == "/home/ma-user" or any(f"{tidy}/".startswith(f"{reserved}/") for reserved in _RESERVED_DIRS)
    # The console itself sends the default directory, so it is allowed although it is inside a reserved one.
    return tidy.startswith("/home/") and (tidy == DEFAULT_CODE_DIR or not is_reserved)


def _is_absolute(path: object) -> bool:
    return isinstance(path, str) and path.startswith("/") and ".." not in path.split("/") and path.isprintable()
