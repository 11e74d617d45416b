"""The programs that a node starts for a job: one module per boot method of the manuals."""

from collections.abc import Callable, Mapping

from aisbench_sandbox.catalogue import ASCEND, MPI_ENGINES, PYTORCH, TENSORFLOW
from aisbench_sandbox.engine.boot import (
    custom_image,
    mpi,
    msrun,
    pytorch_gpu,
    rank_table,
    tensorflow_gpu,
    torchrun,
)
from aisbench_sandbox.engine.boot.launch import Launch, build_refusal
from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused

__all__ = ["Launch", "build_launches", "check_starter"]

Method = Callable[[Node, Mapping[str, str]], list[Launch]]

_BY_ENGINE: Mapping[str, Method] = {
    PYTORCH: pytorch_gpu.build_launches,
    TENSORFLOW: tensorflow_gpu.build_launches,
    **dict.fromkeys(MPI_ENGINES, mpi.build_launches),
}
_BY_RUN_METHOD: Mapping[str, Method] = {
    "": rank_table.build_launches,
    "torchrun": torchrun.build_launches,
    "msrun": msrun.build_launches,
}


def check_starter(job: Job, path: str | None = None) -> None:
    """Raises Refused if this machine lacks the program that starts the job's processes; `path` is searched for it."""
    if not job.algorithm.get("command") and job.algorithm["engine"].get("engine_name") in MPI_ENGINES:
        reason = mpi.why_unavailable(path)
        if reason:
            engine = job.algorithm["engine"]["engine_name"]
            raise Refused(400, "ModelArts.2780", f"The engine {engine} cannot run here: {reason[0]}", reason[1])


def build_launches(node: Node, environment: Mapping[str, str]) -> list[Launch]:
    """The programs of this node, which are started together with this `environment`."""
    algorithm = node.job.algorithm
    if node.working_dir and not node.working_dir.is_dir():
        return [build_refusal(node, 1, f"working_dir {algorithm['working_dir']}: no such directory on this node")]
    # First, because a command may stand beside the name of a preset engine, and then decides.
    if algorithm.get("command"):
        return custom_image.build_launches(node, environment)
    engine = algorithm["engine"]["engine_name"]
    return _by_run_method(node, environment) if engine == ASCEND else _BY_ENGINE[engine](node, environment)


def _by_run_method(node: Node, environment: Mapping[str, str]) -> list[Launch]:
    wanted = environment.get("MA_RUN_METHOD", "")
    if wanted in _BY_RUN_METHOD:
        return _BY_RUN_METHOD[wanted](node, environment)
    # The manual does not say what another value does. Running the boot file in the default way would hide a typing
    # error.
    return [build_refusal(node, 1, f"MA_RUN_METHOD is {wanted!r}; it can be torchrun or msrun")]
