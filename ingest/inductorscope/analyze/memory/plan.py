"""Walks through a wrapper's lines and tracks memory as Python, or C++, would.

A name refers to a storage; a storage lives as long as a name refers to it. `buf3 = buf1; del buf1`
passes it on, `del buf3` frees it, and the tuple that an extern call returns holds its parts until
they have names of their own.
"""

import re
from collections import Counter
from collections.abc import Mapping

from inductorscope.analyze.memory.layouts import argument_name, directions, pointer_types
from inductorscope.analyze.memory.records import (
    Holding,
    Known,
    MemoryPlan,
    Reuse,
    Role,
    Step,
    Storage,
    Touch,
)
from inductorscope.analyze.memory.sizes import settled
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.output_code import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.code.wrapper_lines import WrapperLine

LONGEST_TEXT = 300
# `torch.ops.aten.index_put_.default` returns its first argument.
_IN_PLACE = re.compile(r"\.\w+_(?:\.\w+)?$")
_COUNTED = {
    "allocate", "reuse", "free", "reinterpret", "unpack", "copy", "call", "extern_call", "input",
    "return",
}  # fmt: skip


class Walk:
    """One walk through a wrapper; `plan` is the result."""

    def __init__(
        self,
        wrapper: list[WrapperLine],
        code: OutputCode,
        lines: list[str],
        layouts: Mapping[str, Layout],
        hints: Mapping[str, int],
        constants: Mapping[str, Layout],
    ) -> None:
        self.wrapper = wrapper
        self.lines = lines
        self.kernels: dict[str, CodeKernel] = code.by_name()
        self.layouts = layouts
        self.hints = hints
        self.plan = MemoryPlan(
            hints=dict(hints), first_line=code.wrapper_first, last_line=code.wrapper_last,
            cpp=code.cpp,
        )  # fmt: skip
        self.held: dict[str, Storage] = {}
        """The storage that each name refers to now."""
        self.names: Counter[int] = Counter()
        """Storage → names and tuples that refer to it."""
        self.bundles: dict[str, dict[str, Storage]] = {}
        """Tuple → its parts by their later names."""
        self.parts = self._parts()
        self.numbers = _plain_numbers(wrapper, lines, layouts)
        self.waiting: dict[str, Reuse] = {}
        """Names that reuse memory and have not been used yet."""
        self.returned: list[Storage] = []
        for name, layout in constants.items():
            self._new(name, code.wrapper_first, "constant", layout)

    def walk(self) -> MemoryPlan:
        for statement in self.wrapper:
            read = getattr(self, f"_{statement.kind}", None)
            if read is not None:
                read(statement)
        self._end()
        return self.plan

    def _parts(self) -> dict[str, list[str]]:
        """Names that will be unpacked from each tuple."""
        parts: dict[str, list[str]] = {}
        for statement in self.wrapper:
            if statement.kind == "unpack" and statement.uses:
                parts.setdefault(statement.uses[0], []).extend(statement.defines)
        return parts

    # --- effects of lines ---

    def _input(self, statement: WrapperLine) -> None:
        constant = "constants_" in self._text(statement.line)
        for name in statement.defines:
            if name in self.numbers or name in self.held:
                continue
            self._new(name, statement.line, "constant" if constant else "input", self._layout(name))

    def _allocate(self, statement: WrapperLine) -> None:
        pool = self.held.get(statement.inside) if statement.inside else None
        for name in statement.defines:
            storage = self._new(
                name, statement.line, "intermediate", statement.layout or self._layout(name),
                inside=pool.number if pool is not None else None,
            )  # fmt: skip
            if pool is not None:
                storage.device = pool.device

    def _other(self, statement: WrapperLine) -> None:
        for name in statement.defines:
            if name not in self.held:
                self._new(name, statement.line, "intermediate", self._layout(name))

    def _reuse(self, statement: WrapperLine) -> None:
        for name in statement.defines:
            storage = self.held.get(statement.uses[0]) if statement.uses else None
            if storage is None:
                continue
            self._hold(name, storage, statement.line, statement.layout or self._layout(name))
            storage.reuses += 1
            nbytes, _, _ = self._size(statement.layout or self._layout(name))
            reuse = Reuse(statement.line, name, statement.uses[0], nbytes, "")
            self.plan.reuses.append(reuse)
            self.waiting[name] = reuse
        self._free(statement)
        # After a C++ move, and for memory in a pool, no `del` marks the end of the old name.
        for before in statement.uses[:1]:
            if before not in statement.frees and before in self.held and statement.defines:
                self._let_go(before, statement.line)

    def _reinterpret(self, statement: WrapperLine) -> None:
        for name in statement.defines:
            storage = self.held.get(statement.uses[0]) if statement.uses else None
            if storage is not None:
                self._hold(name, storage, statement.line, statement.layout or self._layout(name))

    def _unpack(self, statement: WrapperLine) -> None:
        for name in statement.defines:
            source = statement.uses[0] if statement.uses else ""
            storage = self.bundles.get(source, {}).get(name) or self.held.get(source)
            if storage is not None:
                self._hold(name, storage, statement.line, self._layout(name))

    def _free(self, statement: WrapperLine) -> None:
        for name in statement.frees:
            self._let_go(name, statement.line)

    def _return(self, statement: WrapperLine) -> None:
        for name in statement.uses:
            storage = self.held.get(name)
            if storage is None:
                continue
            self.returned.append(storage)
            if storage.role == "intermediate":
                storage.role = "output"
                if storage.inside is not None:
                    self.plan.storages[storage.inside].role = "output"

    def _call(self, statement: WrapperLine) -> None:
        kernel = self.kernels.get(statement.call.kernel) if statement.call is not None else None
        if statement.call is None:
            return
        if kernel is None or not kernel.parameters:
            self._touch_all(statement, statement.call)
            return
        for argument, (pointer, _) in zip(
            statement.call.arguments, pointer_types(kernel), strict=False
        ):
            name = argument_name(argument)
            storage = self.held.get(name)
            if storage is None:
                continue
            reads, writes = directions(pointer)
            self._touch(storage, statement.line, statement.call, pointer, name, reads, writes)
            reuse = self.waiting.pop(name, None)
            if reuse is not None and reads and writes:
                reuse.in_place = f"{statement.call.kernel}:{statement.call.handle}"

    def _extern_call(self, statement: WrapperLine) -> None:
        if statement.call is None:
            return
        self._touch_all(statement, statement.call)
        argument = self.held.get(statement.uses[0]) if statement.uses else None
        for result in statement.defines:
            parts = self.parts.get(result)
            if parts:
                self._bundle(result, parts, statement)
            elif argument is not None and _IN_PLACE.search(statement.call.kernel):
                self._hold(result, argument, statement.line, self._layout(result))
            elif result not in self.held:
                self._new(result, statement.line, "intermediate", self._layout(result))

    def _bundle(self, result: str, parts: list[str], statement: WrapperLine) -> None:
        """Adds the parts of a tuple. They exist from the call on, under the tuple's name until
        unpacked."""
        bundle = self.bundles.setdefault(result, {})
        for part in parts:
            storage = self._new(part, statement.line, "intermediate", self._layout(part))
            del self.held[part]
            bundle[part] = storage

    def _touch_all(self, statement: WrapperLine, call: CodeCall) -> None:
        written = set(statement.defines) | {
            argument_name(argument.partition("=")[2])
            for argument in call.arguments
            if argument.startswith(("out=", "out ="))
        }
        if statement.call is not None and call.kernel.endswith("_out") and call.arguments:
            written.add(argument_name(call.arguments[0]))  # C++: `aoti_torch_cpu_mm_out(buf0, …`
        for name in statement.uses:
            storage = self.held.get(name)
            self.waiting.pop(name, None)
            if storage is not None:
                writes = name in written
                self._touch(storage, statement.line, call, "", name, not writes, writes)

    # --- accounting ---

    def _new(
        self, name: str, line: int, role: Role, layout: Layout, inside: int | None = None
    ) -> Storage:
        nbytes, known, reason = self._size(layout, gaps=role != "input")
        storage = Storage(
            number=len(self.plan.storages), role=role, nbytes=nbytes, known=known, reason=reason,
            device=layout.device, born=line, freed=line, inside=inside,
        )  # fmt: skip
        self.plan.storages.append(storage)
        self._hold(name, storage, line, layout)
        if inside is not None:
            self.names[inside] += 1
        return storage

    def _hold(self, name: str, storage: Storage, line: int, layout: Layout) -> None:
        before = self.held.get(name)
        if before is storage:
            return
        if before is not None:
            self._let_go(name, line)
        self.held[name] = storage
        self.names[storage.number] += 1
        if not storage.holdings or storage.holdings[-1].name != name:
            storage.holdings.append(Holding(name, line, line, layout))
        storage.freed = max(storage.freed, line)

    def _let_go(self, name: str, line: int) -> None:
        for storage in self.bundles.pop(name, {}).values():
            self._drop(storage, line)
        storage_of = self.held.pop(name, None)
        if storage_of is None:
            return
        for holding in storage_of.holdings:
            if holding.name == name:
                holding.last = line
        self._drop(storage_of, line)

    def _drop(self, storage: Storage, line: int) -> None:
        self.names[storage.number] -= 1
        storage.freed = line
        if self.names[storage.number] <= 0 and storage.inside is not None:
            self._drop(self.plan.storages[storage.inside], line)

    def _end(self) -> None:
        """Frees everything at the end of the function, except what it returns."""
        last = self.plan.last_line
        for name in [*self.held, *self.bundles]:
            self._let_go(name, last)

    def _touch(
        self, storage: Storage, line: int, call: CodeCall, pointer: str, name: str,
        reads: bool, writes: bool,
    ) -> None:  # fmt: skip
        touch = Touch(line, call.kernel, call.handle, pointer, reads, writes=writes, name=name)
        storage.touches.append(touch)

    def _size(self, layout: Layout, *, gaps: bool = True) -> tuple[int | None, Known, str]:
        nbytes, reason = layout.nbytes(gaps=gaps)
        if nbytes is not None:
            return nbytes, "exact", ""
        numbers, symbols = settled(layout, self.hints)
        nbytes, still = numbers.nbytes(gaps=gaps)
        if nbytes is None or not symbols:
            return None, "unknown", still or reason
        values = ", ".join(f"{name} = {self.hints[name]}" for name in symbols)
        return nbytes, "hint", f"with {values}, as it was compiled"

    def _layout(self, name: str) -> Layout:
        return self.layouts.get(name) or Layout()

    def _text(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""


def _plain_numbers(
    wrapper: list[WrapperLine], lines: list[str], layouts: Mapping[str, Layout]
) -> set[str]:
    """Inputs that are numbers: the wrapper names them after a symbol, or nothing describes them as
    tensors."""
    inputs = {
        name for statement in wrapper if statement.kind == "input" for name in statement.defines
    }
    named = set()
    for statement in wrapper:
        if statement.kind == "other" and 0 < statement.line <= len(lines):
            left, _, right = lines[statement.line - 1].strip().partition(" = ")
            if right in inputs and left.isidentifier():
                named.add(right)
    used = {name for statement in wrapper if statement.call is not None for name in statement.uses}
    return named | {name for name in inputs if name not in layouts and name not in used}


def steps_of(plan: MemoryPlan, wrapper: list[WrapperLine], lines: list[str]) -> list[Step]:
    """Returns the bytes allocated after each line that affects memory on the plan's device."""
    on_device = [storage for storage in plan.storages if storage.device == plan.device]
    changes: Counter[int] = Counter()
    inputs: Counter[int] = Counter()
    for storage in on_device:
        size = storage.nbytes or 0
        if storage.inside is not None or not size:
            continue
        if storage.role == "input":
            inputs[storage.born] += size
            inputs[storage.freed] -= size if storage.freed < plan.last_line else 0
        elif storage.role in {"intermediate", "output"}:
            changes[storage.born] += size
            if storage.freed < plan.last_line or storage.role == "intermediate":
                changes[storage.freed] -= size
    steps: list[Step] = []
    live = held = 0
    for statement in wrapper:
        if (
            statement.kind not in _COUNTED
            and not changes[statement.line]
            and not inputs[statement.line]
        ):
            continue
        change = changes.pop(statement.line, 0)
        live += change
        held += inputs.pop(statement.line, 0)
        text = (
            lines[statement.line - 1].strip()[:LONGEST_TEXT] if statement.line <= len(lines) else ""
        )
        call = statement.call
        steps.append(
            Step(
                line=statement.line, kind=statement.kind, text=text, change=change, live=live,
                inputs=held, kernel=call.kernel if call is not None else "",
                handle=call.handle if call is not None else 0,
            )
        )  # fmt: skip
    return steps
