"""What to write so that a change between calls compiles nothing again, for each kind of guard.

Every entry is held by a test that compiles with and without it.
"""

import re

from inductorscope.formats.log.guard_failures import GuardFailure, in_words

REMEDIES = {
    "size": "Before the first call, `torch._dynamo.mark_dynamic({argument}, {dimension})`; or "
    "`torch.compile(…, dynamic=True)` for all sizes and numbers.",
    "size 1": "Sizes 0 and 1 have their own compiles. `torch._dynamo.decorators.mark_unbacked("
    "{argument}, {dimension})` before each call leaves one, but fails where code branches on the "
    "size.",
    "fixed size": "The code uses it as a constant, such as for a loop, so each has its own "
    "compile: pad to a few sizes, or loop around the call.",
    "static": "Torch may not make it dynamic: leave out `dynamic=False` where the function is "
    "compiled, and the second compile serves all values.",
    "condition": "The program branches on a size: each side has its own compile. `torch.where` on "
    "tensors needs none.",
    "stride": "Always pass the same layout: `{argument}.contiguous()`.",
    "rank": "Always pass the same number of dimensions: `reshape` or `unsqueeze` before the call.",
    "number": "Pass it as a tensor: `torch.tensor({subject})`.",
    "constant": "Keep it out of the compiled code if nothing is computed from it, such as a name. "
    "Else each value has its own compile: `torch.compile` one function for each, and choose "
    "outside of it, or leave it uncompiled if it computes little.",
    "switch": "Pass it as a tensor, and choose with `torch.where` or multiply by it. A few that "
    "seldom change may keep a compile for each value.",
    "option": "Give the optimizer a tensor, `{name}=torch.tensor(…)`: a scheduler then changes it "
    "in place.",
    "default": "Define the function once, and pass it the value as a tensor: `torch.tensor(…)`.",
    "attribute": "Keep it in a tensor that is changed in place, such as a buffer: "
    "`{owner}.register_buffer('{name}', torch.tensor(…))`, then `{subject}.fill_(…)`.",
    "item": "Pass the numbers as one tensor: `torch.tensor({container})`.",
    "global": "Keep it in a tensor that is changed in place, or pass it as a tensor: "
    "`torch.tensor({name})`.",
    "training": "One compile for training and one for evaluation are needed; more are not.",
    "stack": "A graph break passes it from one graph to the next: without the break there is no "
    "guard on it.",
    "keys": "Always pass the same keys: zeros for what a call lacks, and a mask that tells so.",
    "length": "Pass one tensor, such as `torch.stack({argument})`, or always the same number.",
    "dtype": "Always pass the same dtype: `{argument}.to(dtype)` before the call.",
    "requires_grad": "Always pass it with or always without gradients: `{argument}.detach()` if "
    "none flow through it, else make the first one with `requires_grad=True`.",
    "frozen": "Each set of frozen parameters has its own compile: freeze before the first call, or "
    "compile block by block, so that only the changed one compiles again.",
    "dispatch_key_set": "Always pass the same kind of tensor: `{argument}.to(device)` before the "
    "call, no mix of devices, subclasses and inference mode.",
    "inference": "It was made outside of inference mode at first: make the first one under "
    "`torch.inference_mode()` too, as the calls make the others.",
    "grad_mode": "Run each call in the same mode: always or never under `torch.no_grad()`. "
    "Training and evaluating need one compile each.",
    "global state": "Set it once, before the first call.",
    "type": "Always pass the same type. A class that a function defines is another one in each "
    "call: define it outside of the function.",
    "object": "Make it once, outside of the loop, and pass the same object in each call.",
    "wrapper": "Torch compiles different functions through this wrapper of its own; nothing is to "
    "be changed. They share one limit: `torch._dynamo.config.recompile_limit`.",
    "none": "Always give it a tensor, or never. What the first call stores in `{argument}` is made "
    "before it, such as in `__init__`.",
    "alias": "Always or never pass the same tensor twice: `{argument}.clone()`.",
}  # fmt: skip
RARE = (
    "After the warm-up, `torch.compiler.set_stance('eager_on_recompile')` runs calls that would "
    "compile again uncompiled."
)
"""For what no guard needs to hold often."""

_NUMBER = re.compile(r"-?[\d.]+(?:e[+-]?\d+)?$|-?inf$|nan$")
_SIZE = re.compile(r"^(.{1,300})\.(?:size|stride)\((\d{1,6})\)$")
_OF = re.compile(r"^[a-z_ ]{1,60} of (.{1,300})$|^len\((.{1,300})\)$|^(.{1,300}) is \S")
_OPTION = re.compile(r"\.param_groups\[\d{1,6}\]\['(\w{1,60})'\]")
_OWN_WRAPPER = "torch/_dynamo/external_utils.py"


def kind_of(failed: GuardFailure, file: str = "") -> str:
    """Returns the key of the remedy; `file` is that of the compiled function."""
    kind, subject = failed.kind, failed.subject
    if kind == "global":
        return "grad_mode" if "grad_mode" in subject else "global state"
    if "___stack" in subject:
        return "stack"
    if kind in ("object", "type") and file.endswith(_OWN_WRAPPER):
        return "wrapper"
    if kind == "size" and (failed.new in ("0", "1") or failed.old in ("0", "1")):
        return "size 1"
    if kind == "condition":
        one = failed.text.startswith("2 <= ") and failed.text.count("<") == 1
        return "size 1" if one or failed.new in ("0", "1") else kind
    if kind == "dispatch_key_set" and failed.old and failed.new:
        before, after = ("ADInplaceOrView" in keys for keys in (failed.old, failed.new))
        return "inference" if before and not after else kind
    if kind != "value":
        return "frozen" if re.match("requires_grad of (self|fn)[.]", subject) else kind
    return _kind_of_value(failed)


def _kind_of_value(failed: GuardFailure) -> str:
    subject = failed.subject
    if subject.endswith(".training"):
        return "training"
    if re.search(r"\.__(?:kw)?defaults__\[|\.__closure__\[", subject):
        return "default"
    if "dict.keys(" in subject:
        return "keys"
    if ".param_groups[" in subject:
        return "option"
    known = failed.old or failed.new or ""
    if not _NUMBER.match(known):
        return "switch" if known in ("True", "False") else "constant"
    if subject.startswith("G["):
        return "global"
    if re.search(r"\[\d{1,9}\]$", subject) and not subject.startswith("args["):
        return "item"
    return "attribute" if "." in subject else "number"


def remedy_for(failed: GuardFailure, file: str = "") -> str:
    """Returns what to write; empty if there is no entry."""
    text = REMEDIES.get(kind_of(failed, file), "")
    subject = in_words(failed.subject)
    size, named = _SIZE.match(subject), _OF.match(subject)
    argument = size[1] if size else subject
    if named is not None:
        argument = next(filter(None, named.groups()))
    owner, _, name = subject.rpartition(".")
    if option := _OPTION.search(subject):
        name = option[1]
    return text.format(
        argument=argument, dimension=size[2] if size else "…", subject=subject, name=name,
        owner=owner, container=subject.rpartition("[")[0],
    )  # fmt: skip
