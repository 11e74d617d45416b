"""Watches a Python process for every other host that it looks up or connects to, and refuses."""

from pathlib import Path

WATCH = """
import ipaddress, sys

def is_here(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", "", None)

def watch(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = args[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host in ("0.0.0.0", "::") or is_here(host):
        return
    with open({log!r}, "a") as log:
        log.write(f"{{event}} {{host}}\\n")
    raise OSError(f"a test refuses {{event}} {{host}}")

sys.addaudithook(watch)
"""


class OutgoingWatch:
    """`path` goes into PYTHONPATH of the processes to be watched."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._log = folder / "outgoing.log"
        (folder / "sitecustomize.py").write_text(WATCH.format(log=str(self._log)), "utf-8")

    @property
    def tried(self) -> list[str]:
        """What was tried so far, in its order."""
        return self._log.read_text("utf-8").splitlines() if self._log.exists() else []
