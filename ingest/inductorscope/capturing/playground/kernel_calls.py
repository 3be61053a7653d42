"""Linux system calls for which Python has no function."""

import ctypes
import os
import platform
import struct
from pathlib import Path

NEW_NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
"""New namespaces for mounts, processes, the network, IPC and the host's name."""
NEW_USER = 0x10000000
READ_ONLY, NO_SUID = 1, 2
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 1 << 18, 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SET_DEATH_SIGNAL, _SET_SECCOMP, _SET_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 22, 36, 38
_CAPABILITIES = 0x20080522
_DENIED, _ABSENT, _ALLOWED = 0x00050000 | 1, 0x00050000 | 38, 0x7FFF0000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SET_ATTRIBUTES = 442
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_LOCAL = 1
# socket, ptrace, process_vm_readv and _writev, unshare, mount, setns, bpf, perf_event_open, keyctl,
# add_key, request_key, userfaultfd, io_uring_setup, open_by_handle_at, pidfd_getfd
_REFUSED = {
    "x86_64": (41, 101, 310, 311, 272, 165, 308, 321, 298, 250, 248, 249, 323, 425, 304, 438),
    "aarch64": (198, 117, 270, 271, 97, 40, 268, 280, 241, 219, 217, 218, 282, 425, 265, 438),
}

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "new namespaces")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    result = _libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None)
    _checked(result, f"mounting {target}")


def own_mounts() -> None:
    """Keeps mounts made from now on in this process's namespace."""
    mount("none", "/", None, _RECURSIVE | _PRIVATE)


def show(source: str, target: str, attributes: int) -> None:
    """Mounts a file or folder at another place, with everything mounted below it."""
    mount(source, target, None, _BIND | _RECURSIVE)
    wanted = struct.pack("QQQQ", attributes, 0, 0, 0)
    result = _libc.syscall(
        _SET_ATTRIBUTES, _AT_FDCWD, target.encode(), _AT_RECURSIVE, wanted, len(wanted)
    )
    _checked(result, f"attributes of {target}")


def turn_root(new: str, old: str) -> None:
    """Makes a mounted folder the root, and unmounts the old root."""
    result = _libc.syscall(_PIVOT_ROOT[platform.machine()], new.encode(), f"{new}{old}".encode())
    _checked(result, "changing the root")
    os.chdir("/")
    _checked(_libc.umount2(old.encode(), _DETACH), "letting go of the old root")
    Path(old).rmdir()


def die_with_parent() -> None:
    _libc.prctl(_SET_DEATH_SIGNAL, 9, 0, 0, 0)


def adopt_orphans() -> None:
    """Keeps descendants of this process below it when their parents end."""
    _libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)


def give_up_privileges() -> None:
    """Drops all capabilities; programs that it starts do not get any either."""
    _checked(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    header, nothing = struct.pack("Ii", _CAPABILITIES, 0), bytes(24)
    _checked(_libc.capset(header, nothing), "dropping capabilities")


def refuse_calls(*, local_sockets: bool = False) -> None:
    """Makes the kernel refuse sockets, and calls that reach other processes or make namespaces.
    `local_sockets` permits sockets of this machine, without which CUDA does not start."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(f"system calls of {machine} are not known here")
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    wrong = [(equal, 1, 0, _ARCHITECTURES[machine]), (answer, 0, 0, _DENIED)]
    program = [(load, 0, 0, 4), *wrong, (load, 0, 0, 0)]
    program += [
        (at_least, 0, 1, 0x40000000),
        (answer, 0, 0, _DENIED),
    ]  # x32 calls
    program += [
        (equal, 0, 1, _CLONE3),
        (answer, 0, 0, _ABSENT),
    ]  # the C library then uses clone
    if local_sockets:
        program += [(equal, 0, 4, _REFUSED[machine][0]), (load, 0, 0, 16)]
        program += [(equal, 0, 1, _LOCAL), (answer, 0, 0, _ALLOWED), (answer, 0, 0, _DENIED)]
    for call in _REFUSED[machine]:
        program += [(equal, 0, 1, call), (answer, 0, 0, _DENIED)]
    program += [(equal, 0, 3, _CLONE[machine]), (load, 0, 0, 16)]
    program += [(any_bit, 0, 1, NEW_USER), (answer, 0, 0, _DENIED), (answer, 0, 0, _ALLOWED)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    filters = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    _checked(_libc.prctl(_SET_SECCOMP, 2, filters, 0, 0), "refusing system calls")
