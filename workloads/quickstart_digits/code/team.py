"""Let the ranks of a job add up arrays together: rank 0 collects over TCP, sums, and sends the sum back.

A star is the plainest shape that works across nodes. Every rank receives the same bytes, so models that start equal
stay equal. Only numbers travel. Errors say which rank, where, and what to look at.
"""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HELLO = struct.Struct("!4sII32s")  # magic, rank, number of ranks, digest of the job's name
_LENGTH = struct.Struct("!Q")
_MAGIC = b"AISB"


class TeamError(Exception):
    """A rank is missing, has left, or does not belong to this job."""


class Team:
    """The ranks that train one model together. `rank` counts from 0 to `size` - 1."""

    def __init__(self, rank: int, size: int, host: str, port: int, job: str = "", timeout: float = 120.0) -> None:
        self.rank = rank
        self.size = size
        self._where = f"{host}:{port}"
        self._hello = _HELLO.pack(_MAGIC, rank, size, hashlib.sha256(job.encode()).digest())
        self._peers = {}  # type: dict[int, socket.socket]  # at rank 0 everybody else, elsewhere rank 0
        if size > 1 and rank == 0:
            self._gather(host, port, time.monotonic() + timeout, timeout)
        elif size > 1:
            self._peers[0] = self._join(host, port, time.monotonic() + timeout, timeout)

    def sum(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum of all ranks' arrays of this shape (float32). Every rank must call it. Raises TeamError."""
        mine = np.ascontiguousarray(values, np.float32)
        if self.size == 1:
            return mine
        if self.rank == 0:
            total = sum((self._receive(rank, mine) for rank in sorted(self._peers)), mine.copy())
            for rank in sorted(self._peers):
                self._send(rank, total)
            return np.asarray(total)
        self._send(0, mine)
        return self._receive(0, mine)

    def close(self) -> None:
        """End all connections."""
        for peer in self._peers.values():
            peer.close()

    def _gather(self, host: str, port: int, deadline: float, timeout: float) -> None:
        try:
            listener = socket.create_server((host, port), backlog=self.size)
        except OSError as error:
            raise TeamError(f"rank 0 cannot listen at {self._where}: {error}; set MA_TORCHRUN_MASTER_PORT") from error
        with listener:
            while len(self._peers) < self.size - 1:
                listener.settimeout(max(0.01, deadline - time.monotonic()))
                try:
                    self._greet(listener.accept()[0], timeout)
                except socket.timeout:
                    missing = sorted(set(range(1, self.size)) - set(self._peers))
                    raise TeamError(
                        f"rank 0 waited {timeout:g} s at {self._where}, and ranks {missing} did not come; "
                        "see the logs of their nodes"
                    ) from None

    def _greet(self, peer: socket.socket, timeout: float) -> None:
        _prepare(peer, min(timeout, 5.0))  # a silent stranger must not keep the others waiting
        try:
            magic, rank, size, job = _HELLO.unpack(_read(peer, _HELLO.size))
        except OSError:
            magic, rank, size, job = b"", 0, 0, b""
        if self._hello != _HELLO.pack(magic[:4], 0, size, job) or not 0 < rank < self.size or rank in self._peers:
            peer.close()  # a stranger, or a rank of another job
            return
        peer.settimeout(timeout)
        peer.sendall(self._hello)
        self._peers[rank] = peer

    def _join(self, host: str, port: int, deadline: float, timeout: float) -> socket.socket:
        while True:
            try:
                return self._knock(host, port, timeout)
            except OSError as error:
                # Nodes start at different times, so rank 0 may not listen yet.
                if time.monotonic() + 0.1 > deadline:
                    raise TeamError(
                        f"rank {self.rank} did not find rank 0 at {self._where} within {timeout:g} s: {error}"
                    ) from error
                time.sleep(0.1)

    def _knock(self, host: str, port: int, timeout: float) -> socket.socket:
        peer = socket.create_connection((host, port), timeout=timeout)
        try:
            _prepare(peer, timeout)
            peer.sendall(self._hello)
            _read(peer, _HELLO.size)
        except OSError:
            peer.close()
            raise
        return peer

    def _send(self, rank: int, values: NDArray[np.float32]) -> None:
        try:
            self._peers[rank].sendall(_LENGTH.pack(values.nbytes) + values.tobytes())
        except OSError as error:
            raise TeamError(f"rank {self.rank} lost rank {rank}: {error}") from error

    def _receive(self, rank: int, like: NDArray[np.float32]) -> NDArray[np.float32]:
        try:
            (length,) = _LENGTH.unpack(_read(self._peers[rank], _LENGTH.size))
            if length != like.nbytes:
                raise TeamError(
                    f"rank {rank} sends {length} bytes, and rank {self.rank} expects {like.nbytes}: "
                    "were they started with the same parameters?"
                )
            return np.frombuffer(_read(self._peers[rank], length), np.float32).reshape(like.shape)
        except OSError as error:
            raise TeamError(f"rank {self.rank} lost rank {rank}: {error}") from error


def team_of_this_process() -> Team:
    """The team that the environment of a training job describes: one per job, or one per server on its own."""
    rank, size = _number("RANK_ID", 0), _number("RANK_SIZE", 1)
    hosts = os.environ.get("VC_WORKER_HOSTS", "127.0.0.1").split(",")
    port = _number("MA_TORCHRUN_MASTER_PORT", 18888)
    job = os.environ.get("JOB_ID", "")
    if os.environ.get("SINGLESERVER_MODE", "").lower() not in ("true", "1"):
        return Team(rank, size, hosts[0], port, job)
    server = _number("VC_TASK_INDEX", 0)
    cards = size // len(hosts)
    # Servers may share one machine (in a sandbox), so each has a port of its own.
    return Team(rank % cards, cards, hosts[server], port + server, f"{job}/{server}")


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name) or default)


def _prepare(peer: socket.socket, timeout: float) -> None:
    peer.settimeout(timeout)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _read(peer: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = peer.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts += part
    return bytes(parts)
