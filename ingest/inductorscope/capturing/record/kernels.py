"""Records the origins of a kernel's lines each time a kernel is defined for a call."""

from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path

from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.scheduler import BaseSchedulerNode

from inductorscope.capturing.inside.loaded import debug_folder
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.record.align import HELPER, adopt, fill_accumulators, fill_template
from inductorscope.capturing.record.lines import Origins, Texts
from inductorscope.capturing.record.origins import Origin, Recorder


@dataclass
class Definition:
    """A kernel as defined for one of its calls; calls share a kernel if its text is the same."""

    kernel: str
    nth: int
    """Number of the call of this kernel in its graph, from 1."""
    source: list[str]
    origins: Origins


@dataclass
class Definitions:
    """All kernels defined so far, by the debug folder of their graph."""

    by_folder: dict[Path, list[Definition]] = field(default_factory=dict)

    def add(self, folder: Path, kernel: str, source: list[str], origins: Origins) -> None:
        known = self.by_folder.setdefault(folder, [])
        nth = 1 + sum(definition.kernel == kernel for definition in known)
        known.append(Definition(kernel, nth, source, origins))


def follow_kernels(recorder: Recorder, texts: Texts, definitions: Definitions) -> None:
    """Installs the hooks."""
    for scheduling in (CppScheduling, TritonScheduling):
        _note_definition(recorder, texts, definitions, scheduling)


def _note_definition(
    recorder: Recorder, texts: Texts, definitions: Definitions, scheduling: Untyped
) -> None:
    original = scheduling.define_kernel

    @wraps(original)
    def define_kernel(self: Untyped, src_code: str, *args: Untyped, **kwargs: Untyped) -> Untyped:
        pieces = list(texts.since_last_kernel)
        name = original(self, src_code, *args, **kwargs)

        def note() -> None:
            folder = debug_folder()
            if folder is None:
                return
            source = src_code.split("\n")
            origins = _origins(src_code, source, texts, pieces)
            template = _template_of(args[0] if args else ())
            if template is not None:
                fill_template(source, origins, template)
            definitions.add(folder, str(name), source, origins)
            texts.since_last_kernel.clear()

        recorder.guarded(note)
        return name

    scheduling.define_kernel = define_kernel


def _origins(
    text: str, source: list[str], texts: Texts, pieces: list[tuple[str, Origins]]
) -> Origins:
    known = texts.of(text)
    if known is not None:  # only helper functions are added in another way
        pieces = [piece for piece in pieces if HELPER in piece[0]]
    origins = adopt(source, [(piece.split("\n"), origin) for piece, origin in pieces])
    for index, origin in enumerate(known or ()):
        origins[index] = origin or origins[index]
    fill_accumulators(source, origins)
    return origins


def _template_of(nodes: Untyped) -> Origin | None:
    """Returns the template among a kernel's scheduler nodes, as the origin of its lines."""
    for node in nodes:
        buffer = getattr(node, "node", None)
        if isinstance(node, BaseSchedulerNode) and node.is_template() and buffer is not None:
            fx = _fx_of_template(buffer)
            return None if fx is None else Origin("template", "template", fx, node.get_name(), None)
    return None


def _fx_of_template(buffer: Untyped) -> str | None:
    """Returns the FX node that a template was chosen for: the last that it implements."""
    origin = buffer.get_origin_node()
    if origin is not None:
        return str(origin.name)
    origins = list(buffer.origins)
    last = [node for node in origins if not any(user in origins for user in node.users)]
    return str(last[0].name) if last else None
