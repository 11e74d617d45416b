"""How one program of a job is started, in a container and without: its end, its signals, what it sees."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from aisbench_sandbox.engine.node import processes
from aisbench_sandbox.engine.node.container import (
    Containers,
    ContainerView,
    build_visibility,
    host_path,
    is_volume,
    normalise_volume,
    why_no_containers,
)
from aisbench_sandbox.engine.node.job_user import job_user
from aisbench_sandbox.engine.node.processes import Process

Start = Callable[..., Process]
PYTHON = (sys.executable, "-I", "-S", "-c")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder on disk: a container has a /dev/shm of its own, where pytest's folders may be."""
    with TemporaryDirectory(prefix="aisbench-launcher-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(params=list(Containers))
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Start:
    """Starts a program both ways, or twice without a container where the system has none."""
    view = None
    if not why_no_containers(request.param, tmp_path):
        view = ContainerView(tmp_path / "node", "a-node", [("127.0.0.2", "other.job")], ["/wished/for"])
        view.write(build_visibility(tmp_path))
        view.hand_over()

    def started(*command: str, **variables: str) -> Process:
        output = tmp_path / "output"
        folder = tmp_path / "node" / "ma-user"
        folder.mkdir(parents=True, exist_ok=True)
        return processes.start("worker-0", "it", command, variables, folder, output, view)

    return started


def ended(process: Process) -> int:
    process.popen.wait(60)
    assert process.exit_code is not None
    return process.exit_code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 15)", 143),
        ("import os; os.abort()", 134),
    ],
)
def test_the_exit_code_is_the_programs_own(start: Start, code: str, expected: int) -> None:
    assert ended(start(*PYTHON, code)) == expected


def test_a_program_that_is_not_there_is_said_and_fails(start: Start, tmp_path: Path) -> None:
    process = start("/no/such/program")

    assert ended(process) == 126
    assert "cannot run /no/such/program: No such file or directory" in (tmp_path / "output").read_text()


def test_a_request_to_end_reaches_the_program_which_may_tidy_up(start: Start, tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\nprint('ready', flush=True)\n"
    )
    process = start(*PYTHON, code + "time.sleep(600)")
    until = time.monotonic() + 60
    while "ready" not in (tmp_path / "output").read_text() and time.monotonic() < until:
        time.sleep(0.01)

    processes.end_all([process], 60, "NOTHING=")

    assert process.exit_code == 5


def test_a_program_that_was_told_to_end_before_it_began_does_not_begin(start: Start, tmp_path: Path) -> None:
    process = start(*PYTHON, f"open({str(tmp_path / 'begun')!r}, 'w'); import time; time.sleep(600)")

    os.killpg(process.popen.pid, signal.SIGTERM)

    assert ended(process) == 143


def test_the_environment_is_exactly_what_is_given(start: Start, tmp_path: Path) -> None:
    process = start(*PYTHON, "import os; print(dict(os.environ))", ONE="1", LC_ALL="C.UTF-8")

    assert ended(process) == 0
    assert (tmp_path / "output").read_text() == "{'ONE': '1', 'LC_ALL': 'C.UTF-8'}\n"


def test_what_must_stay_visible_is_there_also_below_a_directory_that_is_the_nodes_own(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "of the machine.txt").write_text("seen")
    tmp_path.chmod(0o755)

    assert ended(start(*PYTHON, f"print(open({str(tmp_path / 'of the machine.txt')!r}).read())")) == 0
    assert (tmp_path / "output").read_text() == "seen\n"


def test_a_program_of_another_user_gets_nothing_of_roots(tmp_path: Path) -> None:
    user = job_user()
    if user is None:
        assert os.geteuid() != 0
        return
    (tmp_path / "key").write_text("secret")
    secrets = (tmp_path / "key", f"/proc/{os.getpid()}/environ", "/etc/shadow")
    look = f"id -u; {'; '.join(f'cat {path}' for path in secrets)}; grep NoNewPrivs /proc/self/status"

    process = processes.start(
        "w", "it", ["/bin/sh", "-c", look], {"PATH": os.defpath}, tmp_path, tmp_path / "output", user=user
    )

    assert ended(process) == 0
    said = (tmp_path / "output").read_text().splitlines()
    assert said[0] == str(user.uid)
    assert [line.rpartition(": ")[2] for line in said[1:-1]] == ["Permission denied"] * 3
    assert said[-1].split() == ["NoNewPrivs:", "1"]


def test_hidden_paths_are_empty_and_what_lies_below_them_can_be_kept(tmp_path: Path) -> None:
    if why_no_containers(Containers.AUTO, tmp_path):
        return
    machine = tmp_path / "machine"
    for name in ("data/secret.txt", "data/packages/kept.txt", "key"):
        (machine / name).parent.mkdir(parents=True, exist_ok=True)
        (machine / name).write_text("secret")
    tmp_path.chmod(0o755)
    view = ContainerView(tmp_path / "node", "a-node", [])
    view.write(build_visibility(machine, machine / "data" / "packages", hidden=[machine / "data", machine / "key"]))
    view.hand_over()
    look = f"cd {machine}; ls data; cat data/packages/kept.txt; wc -c < key; touch data/new 2>/dev/null || echo closed"

    process = processes.start(
        "w",
        "it",
        ["/bin/sh", "-c", look],
        {"PATH": os.defpath},
        tmp_path / "node" / "ma-user",
        tmp_path / "output",
        view,
    )

    assert ended(process) == 0, (tmp_path / "output").read_text()
    assert (tmp_path / "output").read_text().split() == ["packages", "secret0", "closed"]
    assert oct((machine / "data").stat().st_mode & 0o777) == oct(0o755)


def test_a_container_shows_the_nodes_directories_and_names(tmp_path: Path) -> None:
    if why_no_containers(Containers.AUTO, tmp_path):
        assert "namespaces" in why_no_containers(Containers.AUTO, tmp_path)
        return
    view = ContainerView(tmp_path / "node", "a-node", [("127.0.0.2", "other.job")], ["/wished/for"])
    view.write(build_visibility(tmp_path))
    (tmp_path / "node" / "ma-user" / "mine.txt").write_text("mine")
    code = (
        "import os, pwd, socket\n"
        "print(os.getcwd(), open('mine.txt').read(), os.listdir('/wished/for'), os.listdir('/cache'))\n"
        "print(pwd.getpwuid(os.getuid()).pw_dir, socket.gethostname(), socket.gethostbyname('other.job'))\n"
        "print(os.listdir('/proc/' + str(os.getpid()))[:1] != [], os.access('/', os.W_OK))\n"
        "print([path for path in ('/etc', '/usr', '/root', '/opt') if os.access(path, os.W_OK)])\n"
    )
    folder = tmp_path / "node" / "ma-user"

    process = processes.start(
        "worker-0", "it", [sys.executable, "-c", code], {"PATH": os.defpath}, folder, tmp_path / "output", view
    )

    assert ended(process) == 0, (tmp_path / "output").read_text()
    assert (tmp_path / "output").read_text().splitlines() == [
        "/home/ma-user mine [] []",
        "/home/ma-user a-node 127.0.0.2",
        "True False",
        "[]",
    ]


def test_a_link_that_one_program_leaves_shows_the_next_one_nothing_of_the_machine(tmp_path: Path) -> None:
    if why_no_containers(Containers.AUTO, tmp_path):
        return
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("canary")
    root = tmp_path / "node"
    (root / "ma-user").mkdir(parents=True)
    # One directory inside another, from which the same steps back lead to what both this machine and the job have.
    view = ContainerView(root, "a-node", [], ["/mine", "/mine/a/b"])
    view.write(build_visibility(hidden=[secret]))
    view.hand_over()
    up = "../" * len(Path(f"{root}/volumes/mine/a").parts)
    leave = "import os; os.rename('/mine/a', '/mine/old'); os.mkdir('/mine/a'); os.symlink(TARGET, '/mine/a/b')"
    leave = leave.replace("TARGET", repr(f"{up[3:]}tmp"))
    output = tmp_path / "output"

    with TemporaryDirectory(dir=Path("/", "tmp")) as machines:
        paths = [machines, str(secret / "key"), "/mine/old"]
        look = f"import os; print([os.path.exists(path) for path in {paths!r}])"
        for code in (leave, look):
            process = processes.start("worker-0", "it", [*PYTHON, code], {}, root / "ma-user", output, view)
            assert ended(process) == 0, output.read_text()

    assert output.read_text() == "[False, False, True]\n"


def test_variables_of_a_job_reach_nothing_that_runs_outside_of_its_container(tmp_path: Path) -> None:
    if why_no_containers(Containers.AUTO, tmp_path):
        return
    view = ContainerView(tmp_path / "node", "a-node", [])
    view.write(build_visibility(tmp_path))
    view.hand_over()
    folder, output = tmp_path / "node" / "ma-user", tmp_path / "output"
    # The system's loader writes such a file with the rights of whoever starts with these; it would load code as well.
    variables = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "traced"), "MINE": "a b\u00e9"}
    code = "import os; print(os.environ['LD_DEBUG'], ascii(os.environ['MINE']), sorted(os.listdir('/proc/self/fd')))"

    process = processes.start("worker-0", "it", [*PYTHON, code], variables, folder, output, view)

    assert ended(process) == 0, output.read_text()
    assert list(tmp_path.glob("traced*")) == []
    assert "files 'a b\\xe9' ['0', '1', '2', '3']\n" in output.read_text()


def test_a_container_has_terminals_of_its_own(tmp_path: Path) -> None:
    if why_no_containers(Containers.AUTO, tmp_path):
        return
    view = ContainerView(tmp_path / "node", "a-node", [])
    view.write(build_visibility())
    view.hand_over()
    folder, output = tmp_path / "node" / "ma-user", tmp_path / "output"
    outside, terminal = os.openpty()
    code = "import os; print(os.listdir('/dev/pts')); one, other = os.openpty(); print(os.ttyname(other))"

    process = processes.start("worker-0", "it", [*PYTHON, code], {}, folder, output, view)

    assert ended(process) == 0, output.read_text()
    assert output.read_text() == "['ptmx']\n/dev/pts/0\n"
    os.close(outside)
    os.close(terminal)


def test_paths_of_this_machine_are_told_as_they_are_inside(tmp_path: Path) -> None:
    view = ContainerView(tmp_path, "a-node", [])

    assert view.inside(f"--data={tmp_path}/ma-user/modelarts/x:{tmp_path}/volumes/mnt/data") == (
        "--data=/home/ma-user/modelarts/x:/mnt/data"
    )
    assert view.inside("/home/ma-user and /usr/bin stay") == "/home/ma-user and /usr/bin stay"


@pytest.mark.parametrize(
    ("asked", "tidied"),
    [
        ("/home/ma-user/modelarts/inputs/a_0/", "/home/ma-user/modelarts/inputs/a_0"),
        ("/mnt/../mnt//data", "/mnt/data"),
        ("/../../data", "/data"),
        ("relative/path", ""),
        ("/", ""),
        ("/home", ""),
        ("/usr/local/data", ""),
        ("/mnt/../etc/x", ""),
        ("", ""),
    ],
)
def test_a_directory_that_a_job_asks_for_is_tidied_or_not_honoured(asked: str, tidied: str) -> None:
    assert normalise_volume(asked) == tidied


def test_every_path_inside_has_a_place_below_the_nodes_directory(tmp_path: Path) -> None:
    assert host_path(tmp_path, "/home/ma-user/x") == tmp_path / "ma-user" / "x"
    assert host_path(tmp_path, "/cache") == tmp_path / "cache"
    assert host_path(tmp_path, "/home/ma-user2/x") == tmp_path / "volumes" / "home" / "ma-user2" / "x"
    assert [is_volume(path) for path in ("/cache/x", "/cachette", "/home/ma-user")] == [False, True, False]
