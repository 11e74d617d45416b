"""TensorFlow on GPUs: the boot file once on one node; on several, one parameter server and one worker per node."""

from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import Launch, boot_command, find_folder, output_file
from aisbench_sandbox.engine.boot.rendezvous import arrange_rendezvous
from aisbench_sandbox.engine.node.layout import Node

_TASKS = ("ps", "worker")


def build_launches(node: Node, _: Mapping[str, str]) -> list[Launch]:
    """A parameter server never exits by itself, as in TensorFlow: it is ended when all workers have ended."""
    if node.job.node_count == 1:
        command = boot_command(node)
        return [Launch("the boot file", command, find_folder(node), output_file(node))]
    hosts = {
        task: ",".join(f"{_name_host(node, task, index)}:{port}" for index, port in enumerate(ports))
        for task, ports in arrange_rendezvous(node, _TASKS).ports.items()
    }
    return [_of_task(node, task, hosts) for task in _TASKS]


def _of_task(node: Node, task: str, hosts: Mapping[str, str]) -> Launch:
    # Starting a Preset Image's Boot File: one parameter server per worker, on the same node; the boot file parses
    # these.
    options = [
        *("--task_index", str(node.index)),
        *("--ps_hosts", hosts["ps"]),
        *("--worker_hosts", hosts["worker"]),
        *("--job_name", task),
    ]
    return Launch(
        task,
        [*boot_command(node), *options],
        find_folder(node),
        output_file(node, task),
        {
            "MA_TASK_NAME": task,
            "MA_CURRENT_INSTANCE_NAME": f"modelarts-job-{node.job.job_id}-{task}-{node.index}",
            "TF_PS_HOSTS": hosts["ps"],
            "TF_WORKER_HOSTS": hosts["worker"],
        },
        task=f"{task}-{node.index}",
        serves=task == "ps",
    )


def _name_host(node: Node, task: str, index: int) -> str:
    """The name or address of another task; a parameter server's differs from a worker's in one word."""
    return node.host(index).replace("-worker-", f"-{task}-")
