"""The catalogue of built-in models: each with a description and what it demonstrates. Torch-free.

The models are small files in `models/`, imported only in the capture's child process. They are the
user's sources that a captured run shows.
"""

import importlib.util

import msgspec


class BuiltIn(msgspec.Struct, frozen=True):
    """A built-in model: a file in `models/` with a factory `make`."""

    name: str
    title: str
    shows: str
    """What its run shows, in a sentence."""
    module: str
    """Name of its file in `models/`."""
    trains: bool = False
    """Whether it can be captured for training, forward and backward."""
    needs: tuple[str, ...] = ()
    """Required packages other than torch."""

    fault: str | None = None
    """Module in `faults/` that it installs in Inductor, for models that fail on purpose."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Required packages that are not installed."""
        return tuple(name for name in self.needs if importlib.util.find_spec(name) is None)


BUILT_IN: tuple[BuiltIn, ...] = (
    BuiltIn(
        name="neg-maximum-cat",
        title="neg, maximum, cat",
        shows="Three operations on uint8 in one fused kernel: the whole chain from "
        "torch.neg to its line of C++ or Triton.",
        module="neg_maximum_cat",
    ),
    BuiltIn(
        name="add-add-mul-add",
        title="add, add, mul, add",
        shows="A memory-bound chain of pointwise operations with broadcasting, "
        "fused into one vectorised loop.",
        module="add_add_mul_add",
    ),
    BuiltIn(
        name="gpt-small",
        title="Small GPT",
        shows="Two transformer blocks whose layers share kernels: embedding, layer norm, "
        "attention, GELU; in training also the loss and the backward graph.",
        module="gpt_small",
        trains=True,
    ),
    BuiltIn(
        name="conv-small",
        title="Small convolutional network",
        shows="Convolutions as extern kernels, batch norm and SiLU fused around them, "
        "pooling and log-softmax as reductions.",
        module="conv_small",
        trains=True,
    ),
    BuiltIn(
        name="mobilebert-qa",
        title="MobileBERT, question answering",
        shows="A large graph: 24 layers with random weights, where one kernel has dozens "
        "of call sites. Compiling takes a minute or more.",
        module="mobilebert_qa",
        needs=("transformers",),
    ),
    BuiltIn(
        name="neg-does-not-compile",
        title="A kernel that does not compile",
        shows="Fails on purpose: neg loses its cast, so a uint8 kernel's C++ does not compile; "
        "from the compiler's error back to the operation and your line.",
        module="neg_does_not_compile",
        fault="neg_does_not_compile",
    ),
    BuiltIn(
        name="neg-wrong-numbers",
        title="A kernel with wrong numbers",
        shows="Fails on purpose: neg doubles its input; which component, node and kernel is to "
        "blame, and the smallest program that shows it.",
        module="neg_wrong_numbers",
        fault="neg_doubles",
    ),
    BuiltIn(
        name="foobar-without-lowering",
        title="An operation without a lowering",
        shows="Fails on purpose: Inductor has no lowering for an operation of the graph; which "
        "node that is, and which line it came from.",
        module="foobar_without_lowering",
    ),
)

BY_NAME = {model.name: model for model in BUILT_IN}
NAMES: tuple[str, ...] = tuple(BY_NAME)
