"""The owner of a store: the node whose lowering made the buffer. The first rule to answer counts.

Usually this is the node whose value the buffer holds, its producer. But an extern call that needs
certain strides copies its inputs, and so does a view with other users; the store then belongs to
that call or view.
"""

from collections.abc import Callable

import msgspec

from inductorscope.correlate.buffers.concatenations import next_joining
from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.buffers.shown_values import shown_value
from inductorscope.correlate.buffers.stored import Stored
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import TAKES_AS_IS, extern_name, same_operation
from inductorscope.formats.graph.ir import IrTextNode

_FIX_LAYOUT = frozenset(["convolution_backward", "mm", "_int_mm"])
"""If a value has several users, these request its strides while it is lowered."""


class Store(msgspec.Struct, frozen=True):
    """A store, and the value that it puts into a buffer."""

    memory: Memory
    body: Stored
    producer: FxValue
    index: int
    """Which of the producer's results it is."""
    shown: FxValue
    """The view of the value that the buffer has the shape of, or the value."""

    @property
    def copies(self) -> bool:
        """Whether it copies the producer's value from another buffer."""
        operation = self.body.operation
        return self.memory.loaded(operation) is self.producer and not operation.indirect

    @property
    def users(self) -> list[FxValue]:
        return self.memory.users(self.shown)


OwnerRule = Callable[[Store], FxValue | None]


def joined(store: Store) -> FxValue | None:
    """A concatenation copies its pieces, unless they are computed into its memory as they are."""
    if store.body.whole is None:
        return None
    joining = next_joining(store.memory, store.shown)
    if joining is None or store.copies:
        return joining
    value = store.memory.output_of(store.producer, store.index)
    as_it_is = store.shown is store.producer and joining.name in value.users
    return None if as_it_is or store.shown.op == "cat" else joining


def only_user(store: Store) -> FxValue | None:
    """The only user of a value copies it if it needs other strides."""
    users = store.users
    if len(users) == 1 and users[0].op == "expand":  # copied without what is repeated
        users = store.memory.users(users[0])
    if len(users) != 1:
        return None
    (user,) = users
    if user.op == "cat":
        viewed = store.shown is not store.producer
        copies = (store.copies or viewed) and store.body.whole is not None
    else:
        copies = user.strided and (user.op not in TAKES_AS_IS or store.copies)
    return user if copies else None


def shared_view(store: Store) -> FxValue | None:
    """A view of several users is copied for one that reads it, or requests strides itself."""
    shared = len(store.users) != 1 or store.shown.op == "getitem"
    shared = shared or not store.body.buffer.users  # the caller alone receives it
    if store.shown is store.producer or not shared:
        return None
    if (not store.copies and store.body.region.reads() > 1) or _fixes_layout(store, store.shown):
        return store.shown  # stored once any user reads it from memory
    readers = store.memory.readers(store.body.buffer)
    kernels = [kernel_of(reader) for reader in readers if reader.body is None]
    waiting = (user for user in store.users if user.strided and user.name not in store.memory.used)
    asking = (user for user in waiting if any(same_operation(k, user.op) for k in kernels if k))
    return next(asking, store.shown)


OWNERS: tuple[OwnerRule, ...] = (
    joined,
    only_user,
    shared_view,
)


def owner_of(
    memory: Memory, body: Stored, producer: FxValue, index: int
) -> tuple[str, OwnerRule | None]:
    """The node whose lowering made a buffer, and the rule that says so: none for a producer."""
    shown = producer
    if not body.buffer.mutations or producer.op == "copy_":
        shown = shown_value(memory, body, producer, index)
    store = Store(memory, body, producer, index, shown)
    for rule in OWNERS:
        owner = rule(store)
        if owner is not None:
            return owner.name, rule
    return producer.name, None


def _fixes_layout(store: Store, value: FxValue) -> bool:
    """Whether a value with several users requests its strides while it is lowered itself."""
    if len(value.users) < 2:
        return False
    if "output" in value.users:
        image = len(value.shape or ()) == 4  # whose layout Inductor chooses
        return image or not value.placeholder  # an input has the strides of the graph
    users = store.memory.users(value)
    return not value.placeholder and any(user.op in _FIX_LAYOUT for user in users)


def kernel_of(node: IrTextNode) -> str:
    """The operation of an extern call."""
    return "cat" if "Concat" in node.detail else extern_name(node.extern)
