"""The maker of a buffer: the node whose lowering made it.

Usually this is the node whose value it holds. But an extern call that needs certain strides copies
its inputs, and so does a view with other users; the store then belongs to that call or view.
"""

from __future__ import annotations

from collections.abc import Iterator

from inductorscope.correlate.nodes.buffer_candidates import numel_of
from inductorscope.correlate.nodes.concatenations import Concatenations
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.layouts import (
    is_channels_last,
    is_line,
)
from inductorscope.correlate.nodes.lowerings import (
    REDUCES,
    SCANS,
    TAKES_AS_IS,
    extern_name,
    reads_memory,
    same_operation,
)
from inductorscope.correlate.nodes.region import Operation, Region
from inductorscope.correlate.nodes.sizes import same_shape
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode

_FIX_LAYOUT = frozenset(["convolution_backward", "mm", "_int_mm"])
"""If a value has several users, these request its strides while it is lowered."""


class BufferMakers(Concatenations):
    """Finds the owners of stores."""

    def __init__(self, graph: FxGraph, nodes: dict[str, IrTextNode]) -> None:
        super().__init__(graph, nodes)
        self.claimed: set[str] = set()
        """Views whose copies are outputs of the graph."""
        self.copies: dict[str, FxValue] = {}
        """Buffer → the view or output whose value it holds."""
        self.takes_as_is = TAKES_AS_IS
        if _chose_channels_last(graph, nodes):
            self.takes_as_is |= {"convolution"}
        if _on_cpu(nodes):  # torch 2.1; later it has another name there
            self.takes_as_is |= {"_scaled_dot_product_flash_attention"}

    def _store_owner(
        self,
        buffer: IrBuffer,
        operation: Operation,
        producer: FxValue,
        index: int,
        region: Region,
    ) -> str:
        """The node whose lowering made the buffer: its producer, or the node that needed a copy."""
        if buffer.mutations and producer.op != "copy_":
            return producer.name
        held = self._held(operation.buffer) if operation.op == "load" else None
        is_copy = held is not None and not operation.indirect and held[0] == producer.name
        value = self._shaped(producer, buffer, operation)
        if value is None:
            value = self._output(producer, index, operation, region)
            value = self._shaped(value, buffer, operation) or value
        if value is producer and not (is_copy or region.eager() or too_large(region)):
            value = self._returned_as(producer)
        if value is not producer:
            self.copies[buffer.name] = value
        if self._piece(buffer):
            joining = self._next_joining(value, buffer)
            held_value = self._part(producer, index) if value is producer else value
            seen = value is not producer or not same_shape(held_value.shape, buffer.size)
            seen = seen or joining not in held_value.users
            if joining is not None and (is_copy or (seen and value.op != "cat")):
                return joining
        followers = [self.graph.values[name] for name in value.users if name in self.graph.values]
        if len(followers) == 1 and self._copies(
            followers[0], buffer, is_copy, value is not producer
        ):
            return followers[0].name
        shared = len(followers) != 1 or value.op == "getitem" or value.name in self.claimed
        if value is not producer and shared:
            stored = not is_copy and region.reads() > 1  # once any call reads it from memory
            asking = None if stored else self._asking(value, followers, buffer, operation)
            fixes = asking is None or self._fixes_layout(value, buffer, operation)
            return value.name if asking is None or fixes else asking
        asked = (
            self._asked(producer, buffer, operation, is_copy)
            if is_copy or self._only_extern(buffer)
            else None
        )
        returned = "output" in producer.users and len(producer.users) > 1 and region.reads() > 0
        if asked is not None and not is_copy and returned:
            return producer.name
        return asked or producer.name

    def _output(
        self, producer: FxValue, index: int, operation: Operation, region: Region
    ) -> FxValue:
        """The relevant output of a node with several outputs, unless a reduction makes it.

        Inductor decides separately for each output whether to store it."""
        if operation.op in ("getitem", "reduction"):
            return producer
        if producer.op in REDUCES:
            parts = [self.graph.values[n] for n in producer.users if n in self.graph.values]
            returned = [part for part in parts if part.op == "getitem" and "output" in part.users]
            copied = operation.op == "load" and len(returned) == 1
            return returned[0] if copied else producer
        part = self._part(producer, index)
        if part is producer or "output" in part.users:
            return part
        users = (self.graph.values[n].op for n in part.users if n in self.graph.values)
        repeated = len(part.users) > 1
        if repeated and any(map(reads_memory, users)) and region.reads() > 1:
            return producer  # stored before a layout is chosen
        turned = "convolution" in self.takes_as_is  # to channels last, by the part
        return part if turned and (repeated or too_large(region)) else producer

    def _part(self, producer: FxValue, index: int) -> FxValue:
        """One of several outputs of a node; the node itself if it has one."""
        users = [self.graph.values[name] for name in producer.users if name in self.graph.values]
        parts = (user for user in users if user.op == "getitem")
        own = (part for part in parts if self.graph.root(part.name) == (producer.name, index))
        return next(own, producer)

    def _copies(self, follower: FxValue, buffer: IrBuffer, is_copy: bool, is_view: bool) -> bool:
        """Whether an extern call that needs strides copies a value not yet realised."""
        if follower.op == "cat":
            return (is_copy or is_view) and self._piece(buffer)
        if follower.op in self.takes_as_is and not is_copy:
            return False
        return follower.strided

    def _only_extern(self, buffer: IrBuffer) -> bool:
        users = self._users(buffer)
        return bool(users) and all(user.body is None for user in users)

    def _shaped(self, producer: FxValue, buffer: IrBuffer, operation: Operation) -> FxValue | None:
        """The view whose shape the buffer has, if not the producer's; of several, the one that
        begins at the offset that the body reads."""
        if producer.shape is None or buffer.size is None:
            return None
        own = same_shape(producer.shape, buffer.size)
        held = self._held(operation.buffer) if operation.op == "load" else None
        again = held is not None and held[0] == producer.name and "output" not in producer.users
        if own and (buffer.users or not again):
            return None
        copied = self.copies.get(operation.buffer) if operation.op == "load" else None
        if copied is not None and same_shape(copied.shape, buffer.size):
            return copied
        alike: list[FxValue] = []
        queue = [producer]
        for value in queue:
            for name in value.users:
                child = self.graph.values.get(name)
                part = child is not None and child.op == "getitem" and value.view
                if child is None or not (child.view or part) or len(queue) > 40:
                    continue
                (alike if same_shape(child.shape, buffer.size) else queue).append(child)
                if not buffer.users and same_shape(child.shape, buffer.size):
                    queue.append(child)
        if not buffer.users:  # only the caller receives it
            outputs = [v for v in alike if "output" in v.users and v.name not in self.claimed]
            alike = outputs if own else outputs or alike
        if self._piece(buffer):  # only its concatenation asked for it
            alike = [view for view in alike if self._fits_in(view, buffer)] or alike
        begins = constant_term(operation.index) if operation.op == "load" else None
        memory = self.layouts.get(operation.buffer)
        fitting = (view for view in alike if begins is None or self._begin(view, memory) == begins)
        view = next(fitting, alike[0] if alike else None)
        if view is not None and not buffer.users:
            self.claimed.add(view.name)
        return view

    def _returned_as(self, value: FxValue) -> FxValue:
        """The view that shows all of a value alike and that the caller receives, in a copy."""
        view = value
        while len(view.users) == 1:
            user = self.graph.values.get(view.users[0])
            if user is None or user.op != "expand" or not same_shape(user.shape, value.shape):
                break
            view = user
        return view if "output" in view.users else value

    def _begin(self, view: FxValue, memory: IrBuffer | None) -> int | None:
        """The offset of a view in the memory that holds its root."""
        offset = self.graph.offset(view.name)
        root = self.graph.values.get(self.graph.root(view.name)[0])
        if offset is None or memory is None or root is None:
            return offset
        return offset_in_memory(offset, root, memory)

    def _asked(
        self, producer: FxValue, buffer: IrBuffer, operation: Operation, is_copy: bool
    ) -> str | None:
        """The extern call, or the last view before it if the view has other users."""
        for user in self._users(buffer):
            name = kernel_of(user)
            if user.body is not None or not name:
                continue
            for value, call in self._calls_below(producer):
                if not same_operation(name, call.op) or call.name in self.extern:
                    continue
                if not self._requests(call, value, producer, buffer, is_copy=is_copy):
                    continue
                # A value of indices only is computed again for each call.
                shared = len(value.users) > 1 and call.op != "cat" and not value.constant
                if shared and not is_copy and call.op not in SCANS:
                    return None
                fixes = self._fixes_layout(value, buffer, operation)
                return value.name if fixes else call.name
        return None

    def _calls_below(self, producer: FxValue) -> Iterator[tuple[FxValue, FxValue]]:
        """What takes a value or a view of it, with that view."""
        queue = [producer]
        seen = {producer.name}
        for value in queue:
            for name in value.users:
                child = self.graph.values.get(name)
                if child is None or name in seen:
                    continue
                seen.add(name)
                if child.view or child.op == "getitem":
                    queue.append(child)
                else:
                    yield value, child

    def _requests(
        self, call: FxValue, value: FxValue, producer: FxValue, buffer: IrBuffer, *, is_copy: bool
    ) -> bool:
        """Whether a call requests the whole of a value in strides of its own."""
        as_is = call.op in self.takes_as_is or not call.strided
        joined = call.op == "cat" and value is producer
        if not is_copy and (as_is or joined):
            return False
        return numel_of(buffer) in (value.numel, self._unrepeated(value))

    def _asking(
        self, value: FxValue, followers: list[FxValue], buffer: IrBuffer, operation: Operation
    ) -> str | None:
        """The extern call among a view's users that reads the buffer and requests strides."""
        kernels = [kernel_of(user) for user in self._users(buffer) if user.body is None]
        waiting = (each for each in followers if each.strided and each.name not in self.used)
        called = (each for each in waiting if any(same_operation(k, each.op) for k in kernels if k))
        return next((each.name for each in called), None)

    def _fixes_layout(self, value: FxValue, buffer: IrBuffer, operation: Operation) -> bool:
        """Whether a value with several users requests its strides while it is lowered itself."""
        if len(value.users) < 2:
            return False
        users = [self.graph.values[name] for name in value.users if name in self.graph.values]
        chosen = "convolution" in self.takes_as_is and len(value.shape or ()) == 4
        if "output" in value.users and self.graph.dense(value.name):
            return chosen or not value.placeholder  # an input has the strides of the graph
        fixing = _FIX_LAYOUT | ({"convolution"} - self.takes_as_is)
        return not value.placeholder and any(user.op in fixing for user in users)

    def _unrepeated(self, value: FxValue) -> str:
        """The size of a value without the repetition by a view, which is never copied."""
        source = self.graph.values.get(value.inputs[0]) if value.inputs else None
        return source.numel if value.op == "expand" and source is not None else value.numel


def too_large(region: Region) -> bool:
    """Whether the value is too large to be recomputed by every user, so that Inductor stores it."""
    reads, operations = region.most
    return region.reads() > reads or region.distinct() > operations


def _chose_channels_last(graph: FxGraph, nodes: dict[str, IrTextNode]) -> bool:
    """Whether Inductor chose the layout of the graph's convolutions.

    Convolutions then store their inputs before they request strides. A copied weight is the sign:
    in a model with a layout of choice, the weights have that layout already. On a processor it
    always chooses; only what it chose for images shows.
    """
    images = [
        buffer
        for node in nodes.values()
        if node.extern.endswith("convolution")
        for buffer in node.buffers
        if len(buffer.size or ()) == 4
    ]
    if not images:
        return True
    read = {
        name
        for node in nodes.values()
        if node.extern.endswith("convolution")
        and any(is_channels_last(b) and not is_line(b.size) for b in node.buffers)
        for name in node.reads
    }
    weights = {
        weight.name
        for value in graph.by_op.get("convolution", ())
        if len(value.inputs) > 1
        and (weight := graph.values[value.inputs[1]]).placeholder
        and not is_line(weight.shape)
    }
    return bool(read) and (_on_cpu(nodes) or bool(weights - read))


def _on_cpu(nodes: dict[str, IrTextNode]) -> bool:
    return all(b.device in ("cpu", "") for node in nodes.values() for b in node.buffers)


def kernel_of(node: IrTextNode) -> str:
    return "cat" if "Concat" in node.detail else extern_name(node.extern)
