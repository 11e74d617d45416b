"""The HAProxy of deploy/ on ports of this machine, before consoles of the tests."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.ports import free_port
from tests.source_tree import HOME

FILE = HOME / "deploy" / "haproxy" / "haproxy.cfg"
NAME = "bench.example.com"
PASSWORD = "a-password-of-ann"


def haproxy_command(folder: Path, port: int, backends: Sequence[str], host: str = NAME, plain: int = 0) -> list[str]:
    """The command of an HAProxy with that file; its certificate is fullchain.pem of the folder."""
    text = re.sub(r"^    (user haproxy|group) .*\n", "", FILE.read_text("utf-8"), flags=re.MULTILINE)
    text = text.replace("log /dev/log local0", "log stdout format raw local0")
    text = text.replace("bind :80", f"bind 127.0.0.1:{plain or free_port()}")
    text = text.replace("bind :443", f"bind 127.0.0.1:{port}")
    text = text.replace("/etc/aisbench/tls/haproxy.pem", str(folder / "fullchain.pem")).replace(NAME, host)
    text = text.replace("gt 60 }", "gt 60000 }")  # tests knock more often than anybody
    text = re.sub(r"user ann password .*", f"user ann insecure-password {PASSWORD}", text)
    servers = "".join(
        f"    server console-{number} {backend.removeprefix('http://')} cookie console-{number}\n"
        for number, backend in enumerate(backends, start=1)
    )
    config = folder / "haproxy.cfg"
    config.write_text(re.sub(r"(^    server .*\n)+", servers, text, flags=re.MULTILINE), "utf-8")
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "these tests need HAProxy: install your system's package (Debian: apt-get install haproxy)"
    return [program, "-db", "-f", str(config)]
