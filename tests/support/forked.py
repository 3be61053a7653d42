"""Programs of torch in forks of the test's process: torch is imported once for all of them."""

import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path


def forked(
    act: Callable[[], object], said: Path, folder: Path, variables: Mapping[str, str]
) -> int:
    """Does something in a fork, in a folder and with more variables; what it prints goes to `said`.
    Returns its exit status: what `act` returns if that is a number.

    The fork ends without destroying its objects, which takes a second with torch.
    """
    import torch._inductor.compile_fx
    from torch._inductor import config

    assert torch._inductor.compile_fx
    pid = os.fork()
    if pid == 0:
        output, status = said.open("w", buffering=1), 1
        try:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.chdir(folder)
            os.environ |= variables
            config.compile_threads = 1  # a fork has no threads and would wait for them
            with redirect_stdout(output), redirect_stderr(output):
                returned = act()
            status = int(returned) if isinstance(returned, int) else 0
        except BaseException:  # noqa: BLE001  # its status tells; it must not run other tests
            traceback.print_exc(file=output)
        finally:
            output.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
