"""Confines the process of a try: what it can see, use and reach. Torch-free.

If the kernel allows it, the process gets namespaces: it sees torch, compilers and an empty home,
but no other process and no network. It writes only to memory, up to a limit.
"""

import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from inductorscope.capturing.playground import kernel_calls
from inductorscope.capturing.playground.order import CACHE, PRINTED
from inductorscope.formats.sizes import GIB, MIB
from inductorscope.processes.memory import limit_growth

WRITTEN = 512 * MIB
"""Limit of all files of a try together."""
LONGEST_FILE = 256 * MIB
MEMORY = 4 * GIB
"""Address space of one process, beyond what torch maps."""
CPU_SECONDS = 240
PROCESSES = 64
FILES = 512
NOBODY = 65534
PLAY = Path("/play")
"""Folder of files, in namespaces."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/sys")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "passwd", "group", "localtime")
_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass
class Room:
    """The part of the machine that the processes of a try can see."""

    root: Path
    """An empty folder to mount on."""
    shown: list[str] = field(default_factory=list)
    """Further folders that they may read."""
    hidden: list[str] = field(default_factory=list)
    """Folders that stay hidden, even inside a folder that is shown."""
    separated: bool = False
    """Whether the kernel allows namespaces."""


def seen(room: Room) -> list[Path]:
    """Returns the folders that torch, Python and compilers need."""
    etc = [f"/etc/{name}" for name in _ETC]
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(os.path.isdir, sys.path)]
    paths = sorted({Path(folder).absolute() for folder in (*_SYSTEM, *etc, *python, *room.shown)})
    kept: list[Path] = []
    for path in paths:
        if path.exists() and not any(path.is_relative_to(held) for held in kept if held.is_dir()):
            kept.append(path)
    return kept


def enter(room: Room, device: str) -> Path:
    """Limits this process, which starts those that run somebody's code, and separates it if that is
    possible. Returns the folder for files."""
    os.setsid()
    kernel_calls.die_with_parent()
    kernel_calls.adopt_orphans()
    limit(device)
    if room.separated:
        separate(room)
    return PLAY if room.separated else room.root


def separate(room: Room) -> None:
    """Moves this process, which has one thread, and its later forks into namespaces.

    Raises OSError if the kernel does not allow it; the process must end then.
    """
    user, group = os.getuid(), os.getgid()
    kernel_calls.unshare(kernel_calls.NEW_NAMESPACES | (kernel_calls.NEW_USER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    kernel_calls.own_mounts()
    os.umask(0o022)  # otherwise no other user could read what root creates
    root = str(room.root)
    kernel_calls.mount(
        "tmpfs", root, "tmpfs", kernel_calls.NO_SUID, f"size={WRITTEN},nr_inodes=50000,mode=755"
    )
    for path in seen(room):
        _show(path, root)
    devices = [f"/dev/{name}" for name in _DEVICES]
    for device in (*devices, *map(str, Path("/dev").glob("nvidia*"))):
        if Path(device).exists():
            _place(Path(device), root, 0)
    for path in map(Path, room.hidden):
        target = Path(f"{root}{path}")
        if target.is_dir():
            kernel_calls.mount("tmpfs", str(target), "tmpfs", kernel_calls.READ_ONLY, "size=4k")
    for name in ("proc", "tmp", "home", "play", "old"):
        (room.root / name).mkdir(exist_ok=True)
    kernel_calls.turn_root(root, "/old")


def _show(path: Path, root: str) -> None:
    if path.is_symlink() and path.parent == Path("/"):  # such as /bin → usr/bin
        Path(f"{root}{path}").symlink_to(path.readlink())
    else:
        _place(path, root, kernel_calls.READ_ONLY | kernel_calls.NO_SUID)


def _place(path: Path, root: str, attributes: int) -> None:
    target = Path(f"{root}{path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    kernel_calls.show(str(path), str(target), attributes)


def show_processes() -> None:
    """Mounts /proc, in the first process of the new namespace; many containers forbid that."""
    kernel_calls.mount("proc", "/proc", "proc", kernel_calls.NO_SUID)


def limit(device: str) -> None:
    """Limits what this process and its children may use."""
    if device == "cpu":  # CUDA reserves far more address space than it uses
        limit_growth(MEMORY)
    most = PROCESSES + 4 * (os.cpu_count() or 1)  # threads count
    for kind, value in (
        (resource.RLIMIT_NPROC, most),
        (resource.RLIMIT_FSIZE, LONGEST_FILE),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def become_nobody(own: Iterable[Path]) -> None:
    """Gives up root, if the process has it. The given files and folders change their owner with
    it."""
    if os.getuid() == 0:
        for path in own:
            os.chown(path, NOBODY, NOBODY)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def settle(base: Path, *, separated: bool, local_sockets: bool) -> None:
    """Prepares the process that runs somebody's code: what it prints goes to a file, its home is
    empty, and it has no rights. `local_sockets`: CUDA does not start without them; in its
    namespaces, it cannot reach any other process with them."""
    printed = os.open(base / PRINTED, os.O_WRONLY | os.O_CREAT)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    with suppress(OSError):
        if separated:
            show_processes()
    home = Path("/home") if separated else base / "home"
    own = [home, *([Path("/tmp")] if separated else [])]  # noqa: S108  # a private mount
    become_nobody([*own, base, *base.rglob("*")])
    kernel_calls.die_with_parent()
    with suppress(OSError):  # pages report it
        kernel_calls.give_up_privileges()
        kernel_calls.refuse_calls(local_sockets=local_sockets)
    # Triton read HOME when it was imported.
    os.environ |= {"HOME": str(home), "TRITON_HOME": str(home)}
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(base / CACHE)
    os.environ["TMPDIR"] = tempfile.tempdir = str(own[-1])
    os.chdir(home)


def protections(room: Room) -> dict[str, str]:
    """Tests in forks what this kernel allows; returns for each protection why it fails, or an empty
    text."""
    return {
        "files, processes and network": _fails(lambda: separate(room)),
        "sockets": _fails(_refuse),
    }


def _refuse() -> None:
    kernel_calls.give_up_privileges()
    kernel_calls.refuse_calls()


def _fails(action: Callable[[], None]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
        except Exception as error:  # noqa: BLE001  # kernels and containers differ
            os.write(writing, f"{error}"[:500].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as words:
        reason = words.read()
    _, status = os.waitpid(child, 0)
    return reason or ("" if status == 0 else f"its process ended with status {status}")
