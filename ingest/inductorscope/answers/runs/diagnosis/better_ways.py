"""Causes in how something is computed: another way gives the same numbers sooner."""

import re
from math import prod

from msgspec.structs import replace

from inductorscope import urls
from inductorscope.analyze.time.kernel_names import operator_family
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.unread import shaped, sides
from inductorscope.formats.graph.fx_nodes import FxNode, short_name
from inductorscope.formats.vocabulary import GEMM
from inductorscope.units import microseconds, percent

WIDE = 16
"""Numbers of a vector from which a product computes distances sooner."""
PRIMES = (2, 3, 5, 7)
"""Factors of lengths whose transforms are quick."""
FACTOR = 100
"""Smallest prime factor of a length whose transform is slow."""
TAPS = 256
"""Numbers of a convolution's kernel from which a product of spectra is quicker."""
LONG = 64
"""Positions from which computing all of them for one is told."""
LONGEST = 10_000_000
"""Longest transform whose factors are looked for."""
_TRANSFORMS = frozenset(("_fft_r2c", "_fft_c2r", "_fft_c2c"))
PASSES = 64
"""Passes for a Jacobian from which they are told."""
WORDS, LAST_STANDS_OUT = 1000, 0.1
"""Words from which a product is one of logits, and the smallest share of a step of its line."""
_LAST = re.compile(r"\[:, ?-1(?:, ?:)?\]")
_FUNCTORCH = "torch/_functorch/eager_transforms.py"
_BASIS = frozenset(("full", "new_zeros", "zeros"))
_JACOBIAN = re.compile(r"\b(jacrev|jacfwd)\(")
_OTHER_WAY = {"jacrev": ("output", "inputs", "jacfwd"), "jacfwd": ("input", "outputs", "jacrev")}
_PICKS = frozenset(("index_select", "index", "select", "slice", "gather"))


def distances(evidence: Evidence) -> Cause | None:
    """Distances of all pairs are computed from all differences."""
    found = evidence.slowest(lambda nodes: [(node, 0) for node in [pairwise(nodes)] if node])
    if found is None:
        return None
    size = " × ".join(f"{side:,}" for side in sides(found.nodes[0].annotation) or ())
    return found.cause(
        "distances",
        f"Distances of all pairs are summed from {size} differences: the line takes",
        "`torch.cdist(a, b)`, or for squares "
        "`(a * a).sum(1)[:, None] - 2 * a @ b.T + (b * b).sum(1)`, whose work is a matrix product.",
        trade="A product rounds otherwise: distances near zero lose digits.",
    )


def pairwise(nodes: list[FxNode]) -> FxNode | None:
    """Returns the differences of each row of a matrix with each row of another, if their squares
    are summed."""
    known = {node.name: node for node in nodes}
    for node in nodes:
        squares = known.get(node.inputs[0]) if short_name(node.target) == "sum" else None
        if squares is None or short_name(squares.target) not in ("pow", "mul"):
            continue
        minus = known.get(squares.inputs[0]) if len(squares.inputs) == 1 else None
        if minus is None or short_name(minus.target) != "sub" or len(minus.inputs) != 2:
            continue
        size = sides(minus.annotation) or []
        given = [known[name].annotation if name in known else None for name in minus.inputs]
        left, right = ([1, 1, 1, *(sides(annotation) or [])] for annotation in given)
        spread = [at for at in (-3, -2) if left[at] != right[at] and 1 in (left[at], right[at])]
        summed = (sides(node.annotation) or [])[-2:] == size[-3:-1]
        if len(size) >= 3 and size[-1] >= WIDE and len(spread) == 2 and summed:
            return minus
    return None


def transforms(evidence: Evidence) -> Cause | None:
    """Fourier transforms have a length with a large prime factor."""
    found = evidence.slowest(
        lambda nodes: [own for own in transformed(nodes) if largest_factor(own[1]) >= FACTOR]
    )
    if found is None:
        return None
    length = int(found.figures[0])
    quick = quick_length(length)
    return found.cause(
        "transforms",
        f"Fourier transforms of {length:,} numbers, which has the prime factor "
        f"{largest_factor(length):,}: their lines take",
        f"Pad to {quick:,}, such as with `n={quick}`, where the program allows it: lengths of "
        "small factors are much quicker.",
    )


def transformed(nodes: list[FxNode]) -> list[tuple[FxNode, int]]:
    """Returns the Fourier transforms with the length of the last dimension."""
    known = {node.name: node for node in nodes}
    found = []
    for node in nodes:
        if short_name(node.target) in _TRANSFORMS and node.inputs:
            whole = node if short_name(node.target) == "_fft_c2r" else known.get(node.inputs[0])
            length = (sides(whole.annotation) or [0])[-1:] if whole else []
            found += [(node, length[0])] if length and 1 < length[0] <= LONGEST else []
    return found


def largest_factor(number: int) -> int:
    """Returns the largest prime factor."""
    factor = 2
    while factor * factor <= number:
        if number % factor:
            factor += 1
        else:
            number //= factor
    return number


def quick_length(length: int) -> int:
    """Returns the next length that has only small factors."""
    while True:
        rest = length
        for prime in PRIMES:
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1


def long_kernels(evidence: Evidence) -> Cause | None:
    """Convolutions have kernels of hundreds of numbers."""
    found = evidence.slowest(lambda nodes: [own for own in convolved(nodes) if own[1] >= TAPS])
    if found is None:
        return None
    return found.cause(
        "long kernels",
        f"Convolutions with kernels of {max(found.figures):,} numbers: their lines take",
        "A product of spectra needs far fewer operations: "
        "`torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(k, n), n)`, with `n` of the length "
        "of both together and small factors, and a kernel that is not flipped.",
        trade="It rounds otherwise: small results beside large ones lose digits.",
    )


def convolved(nodes: list[FxNode]) -> list[tuple[FxNode, int]]:
    """Returns the convolutions that move their kernel by about one position, with the numbers of
    a channel of it."""
    known = {node.name: node for node in nodes}
    found = []
    for node in nodes:
        if short_name(node.target) == "convolution" and len(node.inputs) > 1:
            given, kernel = (
                (sides(known[name].annotation) if name in known else None) or []
                for name in node.inputs[:2]
            )
            moved, made = prod(given[2:]), prod((sides(node.annotation) or [])[2:])
            if len(kernel) > 2 and 2 * (made + prod(kernel[2:])) > moved:
                found.append((node, prod(kernel[2:])))
    return found


def decoding(evidence: Evidence) -> Cause | None:
    """All positions of a sequence are computed for the next word of one."""
    step = evidence.step_us or 0.0
    for graph in evidence.graphs if step else ():
        nodes = evidence.nodes()[graph.slug] if graph.direction == "inference" else []
        picked = next_word(nodes)
        us = sum(kernel.us for kernel in evidence.kernels if kernel.graph == graph.slug)
        if picked is None or us < STANDS_OUT * step:
            continue
        node, positions = picked
        return Cause(
            "decoding",
            f"A call computes {positions:,} positions, and reads the logits of one: it takes "
            f"{percent(us / step)} of {evidence.step}.",
            "If each step adds a word, keep keys and values of earlier positions (in a cache of "
            "the longest length, which keeps sizes fixed), and compute only the new one.",
            urls.graph(evidence.id, graph.slug),
            concerns=us / step * (1 - 1 / positions),
            lines=evidence.lines_of([node]),
            kernels={k.id: k.us for k in evidence.kernels if k.graph == graph.slug},
        )
    return None


def next_word(nodes: list[FxNode]) -> tuple[FxNode, int] | None:
    """Returns the node that takes one position of a sequence, behind attention and before logits
    of all words of an embedding; and how many positions there are."""
    known = {node.name: node for node in nodes}
    words, attention, picked = set[int](), False, None
    for node in nodes:
        name, size = short_name(node.target), sides(node.annotation) or [0]
        first = known.get(node.inputs[0]) if node.inputs else None
        given = (sides(first.annotation) if first else None) or [0]
        if picked is not None and size[-1] in words:
            return picked
        if name == "embedding":
            words.add(given[0])
        attention |= "scaled_dot_product" in name
        if attention and name in _PICKS and len(given) == 3 and given[1] >= LONG:
            one = [side for side in size if side != 1] == [given[0], given[2]]
            picked = (node, given[1]) if one else picked
    return None


def jacobians(evidence: Evidence) -> Cause | None:
    """A Jacobian takes a pass for each of many outputs, or inputs."""
    step = evidence.step_us or 0.0
    for slug, nodes in evidence.nodes().items() if step else ():
        passes, made = jacobian_passes(nodes)
        us, places = evidence.spent(made)
        calls = [*evidence.lines_with(_JACOBIAN)] if passes else []
        if calls and us >= STANDS_OUT * step:
            name = calls[0][1][1]
            each, fewer, other = _OTHER_WAY[name]
            return Cause(
                "jacobians",
                f"`{name}` computes a Jacobian in {passes:,} passes, one for each {each}: they "
                f"take {microseconds(us)} of {evidence.step}.",
                f"If the function has fewer {fewer}, `torch.func.{other}` takes a pass for each of "
                "them instead, and gives the same.",
                urls.graph(evidence.id, slug),
                concerns=us / step,
                lines=[line for place, _ in calls for line in evidence.line(*place)],
                kernels=evidence.kernels_of(places),
            )
    return None


def jacobian_passes(nodes: list[FxNode]) -> tuple[int, list[FxNode]]:
    """Returns how many vectors a Jacobian is multiplied by, and the nodes that do so; 0 if few."""
    made = [node for node in nodes if (node.stack_file or "").endswith(_FUNCTORCH)]
    sizes = [sides(node.annotation) for node in made if short_name(node.target) in _BASIS]
    square = [size[0] for size in sizes if size and len(size) == 2 and size[0] == size[1]]
    passes = max(square, default=0)
    return (passes, made) if passes >= PASSES else (0, [])


def last_position(evidence: Evidence) -> Cause | None:
    """Logits of all positions are returned, and the program reads the last ones."""
    if any(graph.direction != "inference" for graph in evidence.graphs):
        return None
    found = evidence.slowest(returned_logits, LAST_STANDS_OUT)
    if found is None:
        return None
    compiled = {(node.stack_file, node.stack_line) for node in evidence.nodes()[found.slug]}
    reads = [place for place, _ in evidence.lines_with(_LAST) if place not in compiled]
    if not reads:
        return None
    positions = int(found.figures[0])
    cause = found.cause(
        "last position",
        f"The product `{found.nodes[0].name}` computes logits of {positions:,} positions, and the "
        "program reads the last one: its line takes",
        "If nothing else reads the others, take the last position before the product: "
        "`self.head(h[:, -1])`.",
        share=1 - 1 / positions,
    )
    return replace(cause, lines=[*cause.lines, *evidence.line(*reads[0])])


def returned_logits(nodes: list[FxNode]) -> list[tuple[FxNode, float]]:
    """Returns the products that a graph returns for many positions and words, with the number of
    positions."""
    known = {node.name: node for node in nodes}
    found = list[tuple[FxNode, float]]()
    for name in nodes[-1].inputs if nodes else ():
        made, size = shaped(name, known), sides(known[name].annotation) if name in known else None
        product = made is not None and operator_family(short_name(made.target)) == GEMM
        if made and product and size and len(size) == 3 and size[1] >= LONG and size[2] >= WORDS:
            found.append((made, size[1]))
    return found


CHECKS = (distances, transforms, long_kernels, decoding, jacobians, last_position)
