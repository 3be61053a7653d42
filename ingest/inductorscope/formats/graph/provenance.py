"""Inductor's own record of which FX nodes a kernel came from.

    {"preToPost": {"a": ["neg"]}, "postToPre": {"neg": ["a"]},
     "cppCodeToPost": {"triton_poi_fused_neg_0:1": ["neg"]}, "postToCppCode": {…}}

"cppCode" means any kernel. Older files key by the bare kernel name, newer ones by `name:handle`.
Earlier versions wrote two files: `inductor_triton_kernel_to_post_grad_nodes`, {kernel: [node, …]},
and `inductor_post_to_pre_grad_nodes`, the history of each node through the passes:

    {"relu": [{"name": "relu", "from_node": [{"name": "relu_1", "from_node": []}]}]}
"""

from collections import Counter

import msgspec

from inductorscope.formats.border import read_json, read_object
from inductorscope.formats.errors.tracebacks import LONGEST, stack_frames
from inductorscope.formats.text import Problem

MOST_STACKS = 200
"""Most stacks of a kernel, and frames of a stack, that are read."""


class Provenance(msgspec.Struct):
    kernel_to_post: dict[tuple[str, int | None], list[str]] = msgspec.field(default_factory=dict)
    post_to_pre: dict[str, list[str]] = msgspec.field(default_factory=dict)
    problems: list[Problem] = msgspec.field(default_factory=list)


def split_handle(key: str) -> tuple[str, int | None]:
    """`name:3` → (`name`, 3). AOTInductor's names contain colons, so the last one counts."""
    name, colon, handle = key.rpartition(":")
    if colon and handle.isascii() and handle.isdigit() and len(handle) < 10:
        return name, int(handle)
    return key, None


def parse_provenance(data: bytes) -> Provenance:
    result = Provenance()
    left_out: Counter[str] = Counter()
    try:
        content = read_json(data, left_out)
    except (ValueError, RecursionError) as error:
        result.problems.append(Problem(None, f"not JSON: {error}"))
        return result
    result.problems += [Problem(None, reason) for reason in left_out.elements()]
    if not isinstance(content, dict):
        result.problems.append(Problem(None, "not a JSON object"))
        return result
    kernels = _lists(content.get("cppCodeToPost"), result)
    result.post_to_pre = _lists(content.get("postToPre"), result)
    if not kernels and "preToPost" not in content and "postToPre" not in content:
        kernels = _information(content) or _bare(content)
        result.post_to_pre = result.post_to_pre or _node_sources(content)
    for key, nodes in kernels.items():
        result.kernel_to_post[split_handle(key)] = nodes
    return result


def innermost_places(stacks: object) -> list[str]:
    """Returns the line that each of torch's stacks of a kernel ends in, as `path:line`."""
    places: dict[str, None] = {}
    for stack in stacks[:MOST_STACKS] if isinstance(stacks, list) else ():
        if isinstance(stack, str):
            frames = stack_frames(stack[:LONGEST].split("\n"), MOST_STACKS)
            places.update((f"{frame.file}:{frame.line}", None) for frame in frames[-1:])
    return list(places)


def places_of_calls(data: bytes) -> dict[tuple[str, int | None], list[str]]:
    """Returns kernel and handle → lines of the program, from `kernel_stack_traces` or
    `kernel_information.json`."""
    content = read_object(data, {}) or {}
    return {
        split_handle(key): innermost_places(
            value.get("stack_traces") if isinstance(value, dict) else value
        )
        for key, value in content.items()
    }


def _lists(value: object, result: Provenance) -> dict[str, list[str]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        result.problems.append(Problem(None, "a mapping of nodes is not a JSON object"))
        return {}
    return {
        str(key): [str(item) for item in items]
        for key, items in value.items()
        if isinstance(items, list)
    }


def _information(content: dict[str, object]) -> dict[str, list[str]]:
    """AOTInductor's `kernel_information.json`: {kernel: {post_grad_nodes: […], …}}."""
    kernels: dict[str, list[str]] = {}
    for name, facts in content.items():
        nodes = facts.get("post_grad_nodes") if isinstance(facts, dict) else None
        if isinstance(nodes, list):
            kernels[name] = [str(node) for node in nodes]
    return kernels


def _node_sources(content: dict[str, object]) -> dict[str, list[str]]:
    """Reads `inductor_post_to_pre_grad_nodes`: the names at the far end of every `from_node`."""
    sources_of: dict[str, list[str]] = {}
    for node, sources in content.items():
        if not isinstance(sources, list) or not any(isinstance(item, dict) for item in sources):
            continue
        names: dict[str, None] = {}
        waiting = list(reversed(sources))
        while waiting:  # the JSON reader limits the depth; a loop needs no recursion
            source = waiting.pop()
            if not isinstance(source, dict):
                continue
            before = source.get("from_node")
            if isinstance(before, list) and before:
                waiting.extend(reversed(before))
            elif source.get("name"):
                names[str(source["name"])] = None
        sources_of[node] = list(names)
    return sources_of


def _bare(content: dict[str, object]) -> dict[str, list[str]]:
    """`inductor_triton_kernel_to_post_grad_nodes`: {kernel: [node, …]}."""
    return {
        name: nodes
        for name, nodes in content.items()
        if isinstance(nodes, list)
        and all(isinstance(node, str) for node in nodes)
        # Stack traces of kernels have the same form: {kernel: ["  File …"]}.
        and not any(node.lstrip().startswith("File ") for node in nodes)
    }
