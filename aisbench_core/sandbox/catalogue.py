"""What this pretend region offers: instance types and preset images."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flavor:
    """An instance type. `kind` is CPU or Ascend; `cards` is how many processes a node runs."""

    flavor_id: str
    name: str
    kind: str
    cards: int
    most_nodes: int


@dataclass(frozen=True, slots=True)
class Engine:
    """A preset image; whatever it is called, this sandbox runs the boot file with its own Python."""

    name: str
    version: str


FLAVORS = {
    flavor.flavor_id: flavor
    for flavor in (
        Flavor("sandbox.cpu.1card", "Sandbox: 1 process per node", "CPU", 1, 8),
        Flavor("sandbox.cpu.2cards", "Sandbox: 2 processes per node", "CPU", 2, 8),
        Flavor("sandbox.cpu.4cards", "Sandbox: 4 processes per node", "CPU", 4, 8),
        Flavor("sandbox.cpu.8cards", "Sandbox: 8 processes per node", "CPU", 8, 8),
        # The cloud's own names, so that a spec written for the cloud can be rehearsed as it is.
        Flavor("modelarts.kat1.xlarge", "Ascend: 1*snt9 (pretended)", "Ascend", 1, 16),
        Flavor("modelarts.kat1.2xlarge", "Ascend: 2*snt9 (pretended)", "Ascend", 2, 16),
        Flavor("modelarts.kat1.4xlarge", "Ascend: 4*snt9 (pretended)", "Ascend", 4, 16),
        Flavor("modelarts.kat1.8xlarge", "Ascend: 8*snt9 (pretended)", "Ascend", 8, 16),
    )
}

_ASCEND = (
    "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.5.1-cann_5.0.3-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.8.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.9.0-cann_6.0.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.10.0-cann_6.0.1-py_3.7-euler_2.8.3-aarch64",
    "mindspore_2.0.0-cann_6.3.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b",
    "pytorch_1.11.0-cann_6.3.0-py_3.7-euler_2.8.3-aarch64",
    "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b",
    "tensorflow_1.15-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
)

ENGINES = (
    *(Engine("Ascend-Powered-Engine", version) for version in _ASCEND),
    Engine("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"),
    Engine("TensorFlow", "tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"),
)


def find_engine(engine_id: str, name: str, version: str) -> Engine | None:
    """The preset image with this id (which is its version), or with this name and version."""
    for engine in ENGINES:
        if engine_id == engine.version or (name, version) == (engine.name, engine.version):
            return engine
    return None
