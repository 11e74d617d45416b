"""The sandbox gives its jobs ports that nobody else comes to have before the job listens there."""

import socket
from pathlib import Path

import pytest

from aisbench_sandbox.engine import ports

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_servers_on_their_own_are_given_ports_in_a_row_that_are_free_at_the_same_time() -> None:
    first = ports.master_port(8)

    listeners = [socket.create_server(("127.0.0.1", first + server)) for server in range(8)]

    for listener in listeners:
        listener.close()


def test_no_port_is_one_that_an_outgoing_connection_may_be_given() -> None:
    from_this_on = int(OUTGOING.read_text().split()[0]) if OUTGOING.exists() else 32768

    assert max(ports.master_port(8) + 7, *ports.role_ports(8)) < from_this_on


def test_a_port_that_is_in_use_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", ports.master_port(1))) as listener:
        used = listener.getsockname()[1]
        monkeypatch.setattr(ports, "_MASTERS", range(used, used + 1))
        monkeypatch.setattr(ports, "_ROLES", range(used, used + 1))

        with pytest.raises(RuntimeError, match="no 1 ports in a row are free"):
            ports.master_port(1)
        with pytest.raises(RuntimeError, match="1 free ports are needed"):
            ports.role_ports(1)
