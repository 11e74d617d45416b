"""Replaces sshd and ssh between the nodes of an MPI job: one program for both sides, standard library only."""

# `python remote_shell.py serve ADDRESS PORT` runs the commands that it receives on its own node.
# `python remote_shell.py run HOST COMMAND…` sends one and exits with its code.
# Both know the job's secret; `run` also knows every node's address (`HOST=ADDRESS:PORT,…`).

import hmac
import json
import os
import socket
import subprocess
import sys
import threading
import time

SECRET = "SANDBOX_SHELL_SECRET"  # noqa: S105 - the variable's name
HOSTS = "SANDBOX_SHELL_HOSTS"
# mpirun calls as soon as worker-0 starts; the other nodes may still be starting their own programs.
_PATIENCE_SECONDS = 120.0
_CANNOT_REACH = 255
_SHELL = "/bin/sh"


def serve(address: str, port: int) -> None:
    """Run received commands until the program is ended."""
    with socket.create_server((address, port)) as server:
        while True:
            peer, _ = server.accept()
            threading.Thread(target=_answer_request, args=(peer,), daemon=True).start()


def run(host: str, command: str) -> int:
    """Run the command on the host and return its exit code, or 255 like ssh when the host cannot be reached."""
    hosts = dict(entry.split("=", 1) for entry in os.environ[HOSTS].split(",") if entry)
    address, _, port = hosts[host].rpartition(":")
    peer = _connect_retrying(address, int(port))
    if peer is None:
        print(f"{host} does not answer", file=sys.stderr, flush=True)
        return _CANNOT_REACH
    with peer, peer.makefile("rw") as stream:
        stream.write(json.dumps({"secret": os.environ[SECRET], "command": command}) + "\n")
        stream.flush()
        return int(stream.readline() or _CANNOT_REACH)


def _answer_request(peer: socket.socket) -> None:
    with peer, peer.makefile("rw") as stream:
        request = json.loads(stream.readline() or "{}")
        # Any program of this machine can connect to a port on loopback.
        if hmac.compare_digest(str(request.get("secret", "")), os.environ[SECRET]):
            # Without stdin, which would be the connection's.
            ended = subprocess.run([_SHELL, "-c", request["command"]], stdin=subprocess.DEVNULL, check=False)
            stream.write(f"{ended.returncode}\n")
            stream.flush()


def _connect_retrying(address: str, port: int) -> socket.socket | None:
    """Connect, and retry while the other side has not started yet."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            return socket.create_connection((address, port))
        except ConnectionRefusedError:
            time.sleep(0.05)
    return None


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    # Joined by blanks and split by the other shell, as ssh does.
    sys.exit(run(sys.argv[2], " ".join(sys.argv[3:])))
