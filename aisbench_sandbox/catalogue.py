"""What the emulated region offers: instance types and preset images."""

from dataclasses import dataclass

ASCEND, PYTORCH, TENSORFLOW = "Ascend-Powered-Engine", "PyTorch", "TensorFlow"
# Engines whose boot files are started by mpirun.
MPI_ENGINES = ("Horovod", "MPI", "MindSpore-GPU")


@dataclass(frozen=True, slots=True)
class InstanceType:
    """An instance type. `kind` is CPU, GPU or Ascend; `cards` is the pretended number of accelerators per node."""

    flavor_id: str
    name: str
    kind: str
    cards: int
    max_nodes: int


@dataclass(frozen=True, slots=True)
class EngineImage:
    """A preset image. Its name selects the boot method; the frameworks are those installed on this machine."""

    name: str
    version: str


FLAVORS = {
    flavor.flavor_id: flavor
    for flavor in (
        InstanceType("sandbox.cpu.1card", "Sandbox: 1 process per node", "CPU", 1, 8),
        InstanceType("sandbox.cpu.2cards", "Sandbox: 2 processes per node", "CPU", 2, 8),
        InstanceType("sandbox.cpu.4cards", "Sandbox: 4 processes per node", "CPU", 4, 8),
        InstanceType("sandbox.cpu.8cards", "Sandbox: 8 processes per node", "CPU", 8, 8),
        # The cloud's own names, so that a spec written for the cloud runs here unchanged.
        InstanceType("modelarts.kat1.xlarge", "Ascend: 1*snt9 (pretended)", "Ascend", 1, 16),
        InstanceType("modelarts.kat1.2xlarge", "Ascend: 2*snt9 (pretended)", "Ascend", 2, 16),
        InstanceType("modelarts.kat1.4xlarge", "Ascend: 4*snt9 (pretended)", "Ascend", 4, 16),
        InstanceType("modelarts.kat1.8xlarge", "Ascend: 8*snt9 (pretended)", "Ascend", 8, 16),
        InstanceType("modelarts.p3.large.public", "GPU: 1*V100 (pretended)", "GPU", 1, 16),
        InstanceType("modelarts.p3.2xlarge.public", "GPU: 2*V100 (pretended)", "GPU", 2, 16),
        InstanceType("modelarts.p3.4xlarge.public", "GPU: 4*V100 (pretended)", "GPU", 4, 16),
        InstanceType("modelarts.p3.8xlarge.public", "GPU: 8*V100 (pretended)", "GPU", 8, 16),
    )
}

# API reference, Creating a Training Job: spec.resource.flavor_id for dedicated pools.
# The share of a node that a job in a dedicated pool takes; these are not public instance types.
POOL_FLAVORS = {
    f"modelarts.pool.visual.{size}": InstanceType(
        f"modelarts.pool.visual.{size}", f"Dedicated pool: {cards} of a node's cards", "Ascend", cards, 1000
    )
    for size, cards in (("xlarge", 1), ("2xlarge", 2), ("4xlarge", 4), ("8xlarge", 8), ("16xlarge", 16))
}

# Training guide, table 3-1, and names in newer documents; the list differs by region.
_ASCEND = (
    "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.5.1-cann_5.0.3-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.8.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.9.0-cann_6.0.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_1.10.0-cann_6.0.1-py_3.7-euler_2.8.3-aarch64",
    "mindspore_2.0.0-cann_6.3.0-py_3.7-euler_2.8.3-aarch64",
    "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b",
    "mindspore_2.3.0-cann_8.0.rc1-py_3.9-euler_2.10.7-aarch64-snt9b",
    "pytorch_1.11.0-cann_6.3.0-py_3.7-euler_2.8.3-aarch64",
    "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b",
    "tensorflow_1.15-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
)

ENGINES = (
    *(EngineImage(ASCEND, version) for version in _ASCEND),
    EngineImage(PYTORCH, "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"),
    EngineImage(TENSORFLOW, "tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"),
    EngineImage("Horovod", "horovod_0.20.0-tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"),
    EngineImage("Horovod", "horovod_0.22.1-pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"),
    EngineImage("MPI", "mindspore_1.3.0-cuda_10.1-py_3.7-ubuntu_1804-x86_64"),
    EngineImage("MindSpore-GPU", "mindspore_1.7.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"),
)


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A repository of the emulated registry: names only, because jobs run this machine's programs."""

    organisation: str
    name: str
    tags: tuple[str, ...]
    """Newest first."""


IMAGES = (
    StoredImage("sandbox", "mindspore", ("2.3.0-cann8.0-aarch64", "2.2.12-cann7.0-aarch64")),
    StoredImage("sandbox", "pytorch", ("2.1.0-cann7.0-aarch64", "1.8.0-cuda10.2-x86_64")),
    StoredImage("sandbox-team", "bench/resnet", ("v2", "v1")),
)


def find_flavor(flavor_id: str) -> InstanceType | None:
    """The instance type with this id, public or for dedicated pools."""
    return FLAVORS.get(flavor_id) or POOL_FLAVORS.get(flavor_id)


def has_images_for(engine_name: str, flavor: InstanceType) -> bool:
    """Whether the engine has images for these accelerators. The sandbox's own CPU types accept all engines."""
    return flavor.kind == "CPU" or (flavor.kind == "Ascend") == (engine_name == ASCEND)


def find_engine(engine_id: str, name: str, version: str) -> EngineImage | None:
    """The preset image with this id (its version), or with this name and version."""
    for engine in ENGINES:
        if engine_id == engine.version or (name, version) == (engine.name, engine.version):
            return engine
    return None
