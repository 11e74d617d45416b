"""Starts one process of a job so that it dies with the sandbox, and in a container if one is described.

`python -I -S launcher.py PARENT PROGRAM ARGS…`, or `… PARENT --container VIEW FOLDER PROGRAM ARGS…` where VIEW is the
file that `container.py` writes. It uses the standard library only and starts in a few hundredths of a second."""
# pathlib would take a good part of the time that this program takes
# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH112, PTH114, PTH115, PTH123, PTH208, PTH211

import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

CANNOT_START = 126
PR_SET_PDEATHSIG = 1
_NAMESPACES = 0x00020000 | 0x04000000 | 0x10000000 | 0x20000000  # mounts, host name, users, processes
_BIND, _RECURSIVE, _PRIVATE, _REMOUNT, _READ_ONLY, _DETACH = 4096, 16384, 1 << 18, 32, 1, 2
_PROC_FLAGS = 2 | 4 | 8  # nosuid, nodev, noexec: the system insists
_OLD = "/.outside"
# They are sent to the whole group; the program decides what they mean.
_FOR_THE_PROGRAM = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}


def main(parent: int, arguments: list[str]) -> None:
    """Become the program, to be killed by the system as soon as the parent is gone (Linux only)."""
    if arguments[0] == "--container":
        view, folder, *command = arguments[1:]
        _enter(parent, json.loads(_read(view)), folder, command)
    _die_with_parent()
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)
    _become(arguments)


def _enter(parent: int, view: Mapping[str, Any], folder: str, command: list[str]) -> NoReturn:
    """Run the program inside; this process stays outside, waits for it and ends with its code.

    Between the two stands the container's first process: when it ends, or is killed, the system kills all others in
    there, also those that have left the session. The program is not it, as a first process is deaf to signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_PROGRAM)
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    _check(libc.unshare(_NAMESPACES), "unshare")
    _write("/proc/self/setgroups", "deny")  # the system's condition for the next lines
    _write("/proc/self/uid_map", f"{view['uid']} {user} 1")
    _write("/proc/self/gid_map", f"{view['gid']} {group} 1")
    _die_with_parent()
    if os.getppid() != parent:
        sys.exit(1)
    outside_lives, our_end = os.pipe()
    first = os.fork()
    if not first:
        os.close(our_end)
        _be_first(libc, view, folder, command, outside_lives)
    os.close(outside_lives)
    os._exit(_code(os.waitpid(first, 0)[1]))


def _be_first(
    libc: ctypes.CDLL, view: Mapping[str, Any], folder: str, command: list[str], outside_lives: int
) -> NoReturn:
    """Build the container's file system, start the program, bury whoever ends, and end with the program."""
    _die_with_parent()
    if select.select([outside_lives], [], [], 0)[0]:  # its other end is closed: nobody waits for us any more
        os._exit(1)
    try:
        _build(libc, view)
        os.chdir(folder)
    except OSError as error:
        print(f"the container cannot be built: {error}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    if signal.sigpending() & _FOR_THE_PROGRAM:  # asked to end before there was a program
        os._exit(128 + signal.SIGTERM)
    program = os.fork()
    if not program:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FOR_THE_PROGRAM)
        _become(command)
    if signal.sigpending() & _FOR_THE_PROGRAM:  # between the look and the start
        os.kill(program, signal.SIGTERM)
    while True:
        ended, status = os.wait()
        if ended == program:
            os._exit(_code(status))


def _build(libc: ctypes.CDLL, view: Mapping[str, Any]) -> None:
    """A new root in memory: what the machine has, and in some places (`places`) a directory of the node's."""
    name = str(view["host"]).encode()
    _check(libc.sethostname(name, len(name)), "sethostname")
    _mount(libc, None, "/", None, _RECURSIVE | _PRIVATE)
    root = str(view["root"])
    _mount(libc, "tmpfs", root, "tmpfs", 0)
    os.mkdir(root + _OLD)
    _check(libc.pivot_root(root.encode(), (root + _OLD).encode()), "pivot_root")
    os.chdir("/")
    places: dict[str, str] = view["places"]
    _show(libc, "", places)
    for path, source in view["kept"].items():  # the interpreter and the like, which a place would hide
        _bind(libc, _OLD + source, path)
    for path, source in view["files"].items():
        _bind(libc, _OLD + source, path)
    for path in view["read_only"]:
        _protect(libc, path)
    _mount_processes(libc)
    _check(libc.umount2(_OLD.encode(), _DETACH), "umount2")
    os.rmdir(_OLD)
    os.chmod("/", 0o555)  # noqa: S103 - as in a container: nobody but root makes directories there


def _show(libc: ctypes.CDLL, folder: str, places: Mapping[str, str]) -> None:
    """Fill one directory of the new root; those on the way to a place are made anew, all others are the machine's."""
    there = _entries(_OLD + folder)
    own = {path[len(folder) + 1 :].partition("/")[0] for path in places if path.startswith(folder + "/")}
    for name in sorted({*there, *own} - ({"proc"} if not folder else set())):
        path = f"{folder}/{name}"
        if path in places:
            _bind(libc, _OLD + places[path], path)
        elif name in own:
            os.mkdir(path, 0o755)
            _show(libc, path, places)
            os.chmod(path, 0o555)  # noqa: S103 - as below
        elif os.path.islink(_OLD + path):
            os.symlink(os.readlink(_OLD + path), path)
        else:
            _bind(libc, _OLD + path, path)


def _mount_processes(libc: ctypes.CDLL) -> None:
    os.mkdir("/proc")
    try:
        _mount(libc, "proc", "/proc", "proc", _PROC_FLAGS)
    except OSError:  # a container around us hides parts of its own, so we may not have one
        _mount(libc, _OLD + "/proc", "/proc", None, _BIND | _RECURSIVE)


def _bind(libc: ctypes.CDLL, source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        _write(target, "")
    _mount(libc, source, target, None, _BIND | _RECURSIVE)


def _protect(libc: ctypes.CDLL, path: str) -> None:
    """Let nobody inside write there, as far as the system lets us decide that; a link leads to what is protected."""
    if os.path.ismount(path) and not os.path.islink(path):
        kept = os.statvfs(path).f_flag & _PROC_FLAGS  # the system wants to hear them again
        try:
            _mount(libc, None, path, None, _REMOUNT | _BIND | _READ_ONLY | kept)
        except OSError:
            return


def _entries(folder: str) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return ()


def _become(command: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - becoming another program is the purpose
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _mount(libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: {what}")


def _code(status: int) -> int:
    """As a container reports it: 128 + N for death by signal N."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
