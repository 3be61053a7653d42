"""Inductor's own record of which FX nodes a kernel came from.

    {"preToPost": {"a": ["neg"]}, "postToPre": {"neg": ["a"]},
     "cppCodeToPost": {"triton_poi_fused_neg_0:1": ["neg"]}, "postToCppCode": {…}}

"cppCode" means any kernel. Older files key by the bare kernel name, newer ones by `name:handle`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from inductorscope.formats.scan import Problem


@dataclass(slots=True)
class Provenance:
    kernel_to_post: dict[tuple[str, int | None], list[str]] = field(default_factory=dict)
    post_to_pre: dict[str, list[str]] = field(default_factory=dict)
    generation: int = 0
    """0: nothing about kernels; 1: keyed by kernel name; 2: by name and call."""
    problems: list[Problem] = field(default_factory=list)


def split_handle(key: str) -> tuple[str, int | None]:
    """`name:3` → (`name`, 3). AOTInductor's names hold colons themselves: the last one counts."""
    name, colon, handle = key.rpartition(":")
    if colon and handle.isascii() and handle.isdigit() and len(handle) < 10:
        return name, int(handle)
    return key, None


def parse_provenance(data: bytes) -> Provenance:
    result = Provenance()
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        result.problems.append(Problem(None, f"not JSON: {error}"))
        return result
    if not isinstance(content, dict):
        result.problems.append(Problem(None, "not a JSON object"))
        return result
    kernels = _lists(content.get("cppCodeToPost"), result)
    if not kernels and "preToPost" not in content and "postToPre" not in content:
        kernels = _information(content) or _bare(content)
    for key, nodes in kernels.items():
        result.kernel_to_post[split_handle(key)] = nodes
    result.post_to_pre = _lists(content.get("postToPre"), result)
    if result.kernel_to_post:
        handled = any(handle is not None for _, handle in result.kernel_to_post)
        result.generation = 2 if handled else 1
    return result


def _lists(value: object, result: Provenance) -> dict[str, list[str]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        result.problems.append(Problem(None, "a mapping of nodes is no JSON object"))
        return {}
    return {
        str(key): [str(item) for item in items]
        for key, items in value.items()
        if isinstance(items, list)
    }


def _information(content: dict[str, object]) -> dict[str, list[str]]:
    """AOTInductor's `kernel_information.json`: {kernel: {post_grad_nodes: […]}}."""
    kernels: dict[str, list[str]] = {}
    for name, facts in content.items():
        nodes = facts.get("post_grad_nodes") if isinstance(facts, dict) else None
        if isinstance(nodes, list):
            kernels[name] = [str(node) for node in nodes]
    return kernels


def _bare(content: dict[str, object]) -> dict[str, list[str]]:
    """`inductor_triton_kernel_to_post_grad_nodes`: {kernel: [node, …]}."""
    return {
        name: nodes
        for name, nodes in content.items()
        if isinstance(nodes, list) and all(isinstance(node, str) for node in nodes)
    }
