"""Whether line tables change what C++ kernels run: built-in models, compiled with and without them.

    python -m bench.line_tables [MODEL…]

Prints the table of docs/machine-code.md. A kernel is the same if its `.text` is byte for byte.
"""

import sys
import tempfile
from pathlib import Path

from inductorscope.capturing.builtin import BUILT_IN, BuiltIn
from inductorscope.capturing.inside.compiled import LIBRARIES
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.machine.cubin import library_code
from inductorscope.settings import Settings


def codes(model: BuiltIn, out: Path, tables: bool) -> dict[str, bytes]:
    """Kernel's source → its code."""
    spec = CaptureSpec(
        model=model.name, train=model.trains, measure=False, profile=False,
        config={"aot_inductor.enable_line_tables": str(tables)},
    )  # fmt: skip
    run_capture(spec, out, Settings(data=out, database_url=""))
    libraries = {file.name: file.read_bytes() for file in (out / LIBRARIES).glob("*.so")}
    assert all((b".debug_line" in library) == tables for library in libraries.values())
    return {source: library_code(library) for source, library in libraries.items()}


def main() -> None:
    print("| model | kernels | the same code | bytes of code |\n|---|---|---|---|")
    for model in BUILT_IN:
        if sys.argv[1:] and model.name not in sys.argv[1:]:
            continue
        if model.missing:
            print(f"| {model.name} | needs {', '.join(model.missing)} | | |", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            kept, plain = (codes(model, Path(folder, str(on)), on) for on in (True, False))
        same = sum(code == plain.get(source) for source, code in kept.items())
        size = sum(map(len, kept.values()))
        print(f"| {model.name} | {len(kept)} | {same} | {size:,} |", flush=True)


if __name__ == "__main__":
    main()
