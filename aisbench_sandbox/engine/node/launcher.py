"""Starts one process of a job so that it is killed with the sandbox, in a container if one is described."""

# `python -I -S launcher.py PARENT PROGRAM ARGS…`, or `… PARENT --container VIEW FOLDER PROGRAM ARGS…` where VIEW is
# the file that `container.py` writes, or `… PARENT --user UID GID PROGRAM ARGS…`. Before those, `--variables N` is an
# open file with the program's environment: variables set by a job, such as LD_PRELOAD, must not affect this program,
# which still has all privileges. It uses the standard library only and starts in a few hundredths of a second.

# Importing pathlib would take a good part of this program's run time:
# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH110, PTH112, PTH114, PTH115, PTH116, PTH118, PTH120, PTH123, PTH208, PTH211

import ctypes
import errno
import json
import os
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

CANNOT_START = 126
PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_NEW_MOUNTS, _NEW_NAME, _NEW_USERS, _NEW_PROCESSES = 0x00020000, 0x04000000, 0x10000000, 0x20000000
_BIND, _RECURSIVE, _PRIVATE, _REMOUNT, _READ_ONLY, _DETACH = 4096, 16384, 1 << 18, 32, 1, 2
# mount_setattr(2) of Linux 5.12, by its number on x86 and Arm; glibc has a function for it since 2.36.
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _ATTR_READ_ONLY = 442, -100, 0x8000, 1
_PROC_FLAGS = 2 | 4 | 8  # nosuid, nodev, noexec: the system requires them
_OLD = "/.outside"
_EMPTY = ("/run", "/var/tmp")  # noqa: S108 - names inside
# They are sent to the whole group; the program decides how to handle them.
_FOR_THE_PROGRAM = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}


def main(parent: int, arguments: list[str]) -> None:
    """Exec the program, to be killed by the system as soon as the parent exits (Linux only)."""
    variables: Mapping[str, str] = os.environ
    if arguments[0] == "--variables":
        variables = json.loads(_read_text(int(arguments[1])))
        arguments = arguments[2:]
    if arguments[0] == "--container":
        view, folder, *command = arguments[1:]
        _enter_container(parent, json.loads(_read_text(view)), folder, command, variables)
    if arguments[0] == "--user":
        user, group, *arguments = arguments[1:]
        _give_up_privileges(int(user), int(group))
    _die_with_parent()
    if os.getppid() != parent:  # the parent died before prctl
        sys.exit(1)
    _become_program(arguments, variables)


def _enter_container(
    parent: int, view: Mapping[str, Any], folder: str, command: list[str], variables: Mapping[str, str]
) -> NoReturn:
    """Run the program inside; this process stays outside, waits for it and ends with its code.

    Between the two is the container's init process: when it exits or is killed, the system kills all others inside,
    also those that have left the session. The program itself is not init, because init ignores unhandled signals."""
    # Blocked until the program runs: a signal in between would end the launcher and leave what it has begun.
    signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_PROGRAM)
    libc = ctypes.CDLL(None, use_errno=True)
    outside: list[int] | None = view["outside"]
    # A process namespace holds the children of its maker, not itself, so a fork has to follow.
    _check_result(libc.unshare(_NEW_PROCESSES | (0 if outside else _NEW_USERS)), "unshare")
    if not outside:
        _map_users("self", view, os.geteuid(), os.getegid())
    _die_with_parent()
    if os.getppid() != parent:
        sys.exit(1)
    from_outside, to_inside = os.pipe()
    from_inside, to_outside = os.pipe()
    first = os.fork()
    if not first:
        os.close(to_inside)
        os.close(from_inside)
        _be_first(libc, view, folder, lambda: _become_program(command, variables), from_outside, to_outside)
    os.close(from_outside)
    os.close(to_outside)
    if outside and os.read(from_inside, 1):
        _map_users(str(first), view, *outside)
        os.write(to_inside, b".")
    # Not sys.exit: nothing of this interpreter is to be finished or flushed twice.
    os._exit(_to_exit_code(os.waitpid(first, 0)[1]))


def _map_users(process: str, view: Mapping[str, Any], user: int, group: int) -> None:
    """Map the container's user and group to those of this machine; it has no others."""
    if process == "self":
        _write_text("/proc/self/setgroups", "deny")  # a precondition of the system for non-root users
    _write_text(f"/proc/{process}/uid_map", f"{view['uid']} {user} 1")
    _write_text(f"/proc/{process}/gid_map", f"{view['gid']} {group} 1")


def _be_first(
    libc: ctypes.CDLL,
    view: Mapping[str, Any],
    folder: str,
    become: Callable[[], NoReturn],
    from_outside: int,
    to_outside: int,
) -> NoReturn:
    """Build the container's file system, start the program, reap its children, and exit with it."""
    _die_with_parent()
    try:
        _check_result(libc.unshare(_NEW_MOUNTS | _NEW_NAME), "unshare")
        _build_root(libc, view)
        if view["outside"]:
            _change_user(libc, view, from_outside, to_outside)
        os.chdir(folder)
    except OSError as error:
        print(f"the container cannot be built: {error}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    os.close(to_outside)
    # From now on, setuid programs such as sudo give no privileges.
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _die_with_parent()  # a change of users resets it
    if select.select([from_outside], [], [], 0)[0]:  # the other end is closed: the process outside has exited
        os._exit(1)
    if signal.sigpending() & _FOR_THE_PROGRAM:  # asked to end before the program was started
        os._exit(128 + signal.SIGTERM)
    program = os.fork()
    if not program:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FOR_THE_PROGRAM)
        become()
    if signal.sigpending() & _FOR_THE_PROGRAM:  # between the check and the start
        os.kill(program, signal.SIGTERM)
    while True:
        # Init gets the orphans of all others inside, and has to wait for them, or they stay as zombies.
        ended, status = os.wait()
        if ended == program:
            os._exit(_to_exit_code(status))


def _change_user(libc: ctypes.CDLL, view: Mapping[str, Any], from_outside: int, to_outside: int) -> None:
    """Become the container's user. Only now, because only root can read all sources of the mounts.

    The process outside still has the right to map this user."""
    os.setgroups([])
    _check_result(libc.unshare(_NEW_USERS), "unshare")
    os.write(to_outside, b".")
    if not os.read(from_outside, 1):
        os._exit(1)
    os.setresgid(view["gid"], view["gid"], view["gid"])
    os.setresuid(view["uid"], view["uid"], view["uid"])


def _give_up_privileges(user: int, group: int) -> None:
    os.setgroups([])
    # The group first: without root's user id it could not be changed any more.
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _build_root(libc: ctypes.CDLL, view: Mapping[str, Any]) -> None:
    """A new root in memory, with the machine's system directories and the described mounts, and nothing else."""
    name = str(view["host"]).encode()
    _check_result(libc.sethostname(name, len(name)), "sethostname")
    # Mounts are shared between namespaces by default on systems with systemd; without this the machine would see
    # them.
    _mount_path(libc, None, "/", None, _RECURSIVE | _PRIVATE)
    root = str(view["root"])
    _mount_path(libc, "tmpfs", root, "tmpfs", 0)
    os.mkdir(root + _OLD)
    # Unlike after chroot, the old root can be unmounted, and then no path leads back to it.
    _check_result(libc.pivot_root(root.encode(), (root + _OLD).encode()), "pivot_root")
    os.chdir("/")
    # The sandbox's umask would make the container's directories invisible to its user.
    usual = os.umask(0o022)
    _show_system(libc, view["system"])
    emptied = [
        bind["path"] for bind in view["binds"] if _show_path(libc, bind["path"], bind["source"], bind["writable"])
    ]
    for path in emptied:
        _close_folder(path, os.stat(path).st_dev)
    for path, source in view["files"].items():
        _bind_path(libc, _OLD + source, path)
        _protect_mount(libc, path)
    _mount_processes(libc)
    os.umask(usual)
    # Detached, as the programs inside still have files of it open, such as their output.
    _check_result(libc.umount2(_OLD.encode(), _DETACH), "umount2")
    os.rmdir(_OLD)
    _close_folder("/", os.stat("/").st_dev)


def _show_system(libc: ctypes.CDLL, names: Iterable[str]) -> None:
    for name in names:
        path = f"/{name}"
        if os.path.islink(_OLD + path):
            os.symlink(os.readlink(_OLD + path), path)
        elif os.path.isdir(_OLD + path):
            _show_path(libc, path, path, False)
    _bind_path(libc, _OLD + "/dev", "/dev")
    if os.path.isdir("/dev/pts"):
        _replace_terminals(libc)
    for path in _EMPTY:
        os.makedirs(path)
        os.chmod(path, 0o1777)  # noqa: S103 - as everywhere


def _replace_terminals(libc: ctypes.CDLL) -> None:
    """Hide the terminals of the sandbox's user, whose input could otherwise be read."""
    try:
        _mount_path(libc, "devpts", "/dev/pts", "devpts", 0)
    except OSError:  # they need a user 0, which only root can map into a container: there are none then
        _mount_path(libc, "tmpfs", "/dev/pts", "tmpfs", 0)


def _show_path(libc: ctypes.CDLL, path: str, source: str, writable: bool) -> bool:
    """Mount a directory or file of the machine at a path inside; without a source, hide what is there.

    Returns whether it is a new and empty directory."""
    if not source and os.path.isdir(path):
        _mount_path(libc, "tmpfs", path, "tmpfs", 0)
        return True
    if not source and os.path.exists(path):
        _bind_path(libc, "/dev/null", path)
    elif source and os.path.exists(_OLD + source):
        _bind_path(libc, _OLD + source, path)
        if not writable:
            _protect_mount(libc, path)
    return False


def _close_folder(folder: str, device: int) -> None:
    """Make intermediate directories read-only; `device` is the in-memory file system they are on."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if path not in _EMPTY and not os.path.islink(path) and os.path.isdir(path) and os.stat(path).st_dev == device:
            _close_folder(path, device)
    os.chmod(folder, 0o555)  # noqa: S103 - as in a container: nobody but root makes directories there


def _mount_processes(libc: ctypes.CDLL) -> None:
    os.mkdir("/proc")
    try:
        _mount_path(libc, "proc", "/proc", "proc", _PROC_FLAGS)
    except OSError:  # an outer container hides parts of its own /proc, so mounting one may be refused
        _mount_path(libc, _OLD + "/proc", "/proc", None, _BIND | _RECURSIVE)


def _bind_path(libc: ctypes.CDLL, source: str, target: str) -> None:
    """Bind `source` to `target`; links that a job has left on either path are not followed."""
    # The mount follows links, and it is done by a process that may read everything.
    if os.path.realpath(source) != source or os.path.realpath(target).startswith(f"{_OLD}/"):
        raise OSError(errno.ELOOP, f"{os.strerror(errno.ELOOP)}: {target}")
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write_text(target, "")
    _mount_path(libc, source, target, None, _BIND | _RECURSIVE)


def _protect_mount(libc: ctypes.CDLL, path: str) -> None:
    """Make a mount read-only as far as the system allows it; a link's target is protected too."""
    attributes = struct.pack("=QQQQ", _ATTR_READ_ONLY, 0, 0, 0)
    name = ctypes.c_char_p(os.fsencode(path))
    if not libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, name, _AT_RECURSIVE, attributes, ctypes.c_size_t(len(attributes))):
        return
    flags = os.statvfs(path).f_flag & _PROC_FLAGS  # a remount has to repeat them
    try:
        _mount_path(libc, None, path, None, _REMOUNT | _BIND | _READ_ONLY | flags)
    except OSError:
        return


def _become_program(command: list[str], variables: Mapping[str, str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and ignored signals are inherited
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(command[0], command, variables)  # noqa: S606 - becoming another program is the purpose
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _mount_path(libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check_result(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def _check_result(result: int, operation: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: {operation}")


def _to_exit_code(status: int) -> int:
    """The exit code as a container reports it: 128 + N for death by signal N."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _read_text(path: str | int) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write_text(path: str, content: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
