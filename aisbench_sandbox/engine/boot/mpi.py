"""Horovod, MPI and MindSpore-GPU: worker-0 runs mpirun, which starts the boot file once per card on every node."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from aisbench_sandbox.engine.boot.launch import Launch, boot_command, find_folder, output_file
from aisbench_sandbox.engine.boot.remote_shell import HOSTS, SECRET
from aisbench_sandbox.engine.boot.rendezvous import Rendezvous, arrange_rendezvous
from aisbench_sandbox.engine.node import safe_files
from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.engine.rank_tables import get_loopback

_ROLE = "shell"
_SHELL = Path(__file__).with_name("remote_shell.py")
_AGENT = "sandbox-rsh"
_SCRIPT = "mpi-boot.sh"
_OPTIONS = (
    # run_mpi.sh of the manual, in the words of Open MPI 5. A container's user may be root; cards outnumber a laptop's
    # cores; MPI talks over loopback, by our remote shell.
    *("--allow-run-as-root", "--bind-to", "none", "--map-by", "slot"),
    *("--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp", "--mca", "btl_tcp_if_include", "127.0.0.0/8"),
    *("--prtemca", "plm_ssh_agent", _AGENT, "--prtemca", "plm_ssh_no_tree_spawn", "1"),
    *("--prtemca", "prte_do_not_resolve", "1"),
)


def why_unavailable(path: str | None = None) -> tuple[str, str] | None:
    """What is missing and how to fix it, or None."""
    if _find_mpirun(path):
        return None
    return "mpirun is not installed.", "Install the extra mpi beside the sandbox: openmpi and mpi4py."


def build_launches(node: Node, _: Mapping[str, str]) -> list[Launch]:
    """mpirun on worker-0; on the other nodes the remote shell that it uses, which ends with it."""
    agreed = arrange_rendezvous(node, [_ROLE])
    _write_script(node)
    return [_build_first(node, agreed)] if node.index == 0 else [_build_other(node, agreed)]


def _build_first(node: Node, agreed: Rendezvous) -> Launch:
    slots = node.job.flavor.cards
    hosts = node.home / "hostfile"
    lines = "".join(f"{_name_host(index)} slots={slots}\n" for index in range(node.job.node_count))
    safe_files.write(node.root, hosts, lines)
    _write_agent(node)
    count = ["-np", str(node.job.card_count), "--hostfile", str(hosts)]
    # Each rank finds its own node's script through the node's own variable.
    boot = ["/bin/sh", "-c", f'. "$MA_HOME/{_SCRIPT}"']
    # mpirun starts its helper on worker-0 by itself, without a remote shell.
    where = ((_name_host(index), index) for index in range(1, node.job.node_count))
    listening = ",".join(f"{host}={get_loopback(index)}:{agreed.ports[_ROLE][index]}" for host, index in where)
    environment = {SECRET: agreed.secret, HOSTS: listening}
    command = [_find_mpirun(), *count, *_OPTIONS, *boot]
    return Launch("mpirun", command, node.home, output_file(node), environment)


def _build_other(node: Node, agreed: Rendezvous) -> Launch:
    address, port = get_loopback(node.index), agreed.ports[_ROLE][node.index]
    command = [str(node.python), "-I", "-S", str(_SHELL), "serve", address, str(port)]
    return Launch("the remote shell", command, node.home, output_file(node), {SECRET: agreed.secret}, serves=True)


def _write_script(node: Node) -> None:
    """Write the script that each rank runs on this node."""
    # mpirun keeps the stdin of rank 0 open, so reading from it would block forever
    lines = f"cd {shlex.quote(str(find_folder(node)))} && exec {shlex.join(boot_command(node))} </dev/null\n"
    safe_files.write(node.root, node.home / _SCRIPT, node.view.inside(lines) if node.view else lines)


def _write_agent(node: Node) -> None:
    """Write the program that mpirun calls instead of ssh; beside the interpreter, so that PATH finds it."""
    # A copy per node, as the interpreter is found relative to it.
    file = node.python.with_name(_AGENT)
    line = f'exec "$(dirname "$0")/{node.python.name}" -I -S {shlex.quote(str(_SHELL))} run "$@"\n'
    safe_files.write(node.root, file, f"#!/bin/sh\n{line}", 0o755)


def _name_host(index: int) -> str:
    """Worker-0 needs no daemon; the other names resolve to nothing here, else mpirun would take all for one host."""
    return f"worker-{index}" if index else "localhost"


def _find_mpirun(path: str | None = None) -> str:
    """The path of mpirun: beside the sandbox's Python, or on PATH; empty if there is none."""
    # First the environment of the sandbox, into which the extra `mpi` installs it.
    usual = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return shutil.which("mpirun", path=usual if path is None else path) or ""
