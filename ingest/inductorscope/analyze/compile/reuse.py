"""Why a cache had no entry: which components of a key differ from the nearest other lookup's."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from inductorscope.formats.log.cache_keys import Component

LONGEST_SHOWN = 200
_FIELD_ENDS = re.compile(r", (?=\w+=)")
Key = Mapping[str, Component]


class Meaning(NamedTuple):
    """What a kind of component is, by its name."""

    name: re.Pattern[str]
    what: str
    advice: str


def _meaning(name: str, what: str, advice: str) -> Meaning:
    return Meaning(re.compile(name), what, advice)


SAME_EVERYWHERE = "Set it alike wherever the cache is used."
MEANINGS = (
    _meaning(r"torch_version|triton_version", "another build of torch or Triton",
             "Entries of another build are never used; fill the cache once with this build."),
    _meaning(r"system_info", "another device or driver",
             "Fill the cache on the kind of machine that uses it."),
    _meaning(r"deterministic_algorithms|warn_only", "torch.use_deterministic_algorithms",
             SAME_EVERYWHERE),
    _meaning(r"inductor_config(_comms)?\[", "an option of Inductor", SAME_EVERYWHERE),
    _meaning(r"autograd_config|functorch_config", "an option in torch._functorch.config",
             SAME_EVERYWHERE),
    _meaning(r"(pre_grad|post_grad|joint|fusion)_custom_|_custom_[a-z_]{0,40}pass|custom_backend_passes|"
             r"_fuse_ddp|partitioner|estimator_solver", "a pass that was added",
             "Give the pass a uuid() that changes only when its code does."),
    _meaning(r"cpp_runtime_thread_count", "the number of threads",
             "Set OMP_NUM_THREADS alike; C++ code is generated for a number of threads."),
    _meaning(r"[a-z]{1,20}_matmul_settings|matmul", "the precision of float32 products",
             "Call torch.set_float32_matmul_precision alike before compiling."),
    _meaning(r"default_dtype", "the default dtype", "Call torch.set_default_dtype alike."),
    _meaning(r"provenance_tracking|cache_key_tag", "a setting of the cache or of the log",
             SAME_EVERYWHERE),
    _meaning(r"grad_enabled|disable_amp|autocast", "gradients or autocast",
             "Compile in the same mode: the graph is another one with and without it."),
    _meaning(r"fx_kwargs\[", "an argument of the compile", SAME_EVERYWHERE),
    _meaning(r"example_inputs", "an input's shape, strides, dtype or device",
             "Use the same shapes, or dynamic sizes (mark_dynamic), in every process."),
    _meaning(r"user_defined_triton_source|triton_kernel|code_hash", "the source of a Triton kernel",
             "The code changed, so it has to be compiled again."),
    _meaning(r"gm$|graph", "the graph",
             "The code changed, so it has to be compiled again."),
    _meaning(r"saved_tensors_hooks|inputs_to_check|static_input|aot_config",
             "what AOTAutograd found out about the inputs", ""),
    _meaning("", "a part of the key", ""),
)  # fmt: skip
"""Causes before what follows from them: of several components that differ, the first here leads."""


class Difference(msgspec.Struct, frozen=True):
    """A component that two keys do not share."""

    name: str
    what: str
    advice: str
    here: str
    there: str
    """The values, or where they first differ; empty where a key lacks the component."""


def differences(here: Key, there: Key) -> list[Difference]:
    """Returns the components that differ, the likeliest cause first."""
    found = []
    for name in {**here, **there}:
        mine, other = here.get(name), there.get(name)
        if mine is None or other is None or mine.digest != other.digest:
            rank, meaning = next(
                (rank, known) for rank, known in enumerate(MEANINGS) if known.name.match(name)
            )
            shown = _where_they_differ(mine.value if mine else "", other.value if other else "")
            found.append((rank, Difference(name, meaning.what, meaning.advice, *shown)))
    return [difference for _, difference in sorted(found, key=lambda item: item[0])]


def nearest(here: Key, others: Iterable[Key]) -> Key | None:
    """Returns the key that shares most components with this one; None if there is no other."""
    digests = {(name, part.digest) for name, part in here.items()}

    def apart(other: Key) -> int:
        shared = sum((name, part.digest) in digests for name, part in other.items())
        return len(digests) + len(other) - 2 * shared

    return min(others, key=apart, default=None)


def _where_they_differ(here: str, there: str) -> tuple[str, str]:
    """Returns what only one of two values has: lines of a text, fields such as `shape=…`."""
    lines = "\n" in here + there
    mine, others = (
        text.splitlines() if lines else _FIELD_ENDS.split(text) for text in (here, there)
    )
    if len(mine) == len(others) == 1:
        return _cut(here), _cut(there)
    between = " " if lines else ", "
    return _only(mine, others, between), _only(others, mine, between)


def _only(parts: Sequence[str], others: Sequence[str], between: str) -> str:
    known = set(others)
    return _cut(between.join(part.strip() for part in parts if part not in known))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
