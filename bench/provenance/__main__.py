"""Torch's provenance of each call of a kernel, beside our links and the recorded truth.

    python -m bench.provenance OUT --record     # some five minutes; needs transformers and triton
    python -m bench.provenance OUT --shown 3    # of what is recorded, with examples

The first compiles the programs, C++ here and Triton for an H100 that is not here, into OUT.
"""

import argparse
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from bench.provenance.compare import Call, Graph, Nodes, graphs_of

PROGRAMS = {
    "cpu": """
        transformers-bert-train transformers-gpt2-train transformers-llama-infer
        transformers-mixtral-infer transformers-t5-train transformers-resnet-train
        transformers-vit-infer transformers-mamba-infer lstm-cell-train
        conv-residual-channels-last-train conv-mobile-infer unet-nearest-train optimizer-adamw
        composition-002 composition-021 block-decoder-bf16-train block-experts-train small-focal
        small-boxes small-sound more-pools more-padded more-gates family-timed-unet-train
        region-normed-infer region-normed-train region-normed-dynamic region-mixed-train
        region-branched-twice region-looped
    """,
    "NVIDIA H100": """
        transformers-bert-infer transformers-gpt2-infer transformers-llama-bf16-infer
        transformers-mixtral-infer transformers-mamba-infer transformers-phi-infer
        transformers-clip-vision-infer conv-residual-infer conv-mobile-infer unet-nearest-infer
        optimizer-adamw optimizer-rprop composition-021 block-experts-infer block-inverted-infer
        small-boxes small-anchors region-normed-infer region-branched-twice
    """,
}
"""Device → programs that compile for it, all of the half that may be looked at."""
HELD = {
    "cpu": """
        transformers-roberta-infer transformers-opt-infer transformers-gpt-neo-infer
        transformers-falcon-infer transformers-mistral-infer transformers-qwen2-train
        transformers-qwen3-infer transformers-gemma2-infer transformers-phi3-train
        transformers-olmo2-infer transformers-cohere-infer transformers-whisper-infer
        transformers-xlnet-train more-regressions composition-003 composition-007
        more-norms-dynamic more-resized region-mixed-infer region-region-and-branch region-branched
    """,
    "NVIDIA H100": """
        transformers-roberta-infer transformers-opt-infer transformers-mistral-infer
        transformers-qwen3-infer transformers-gemma2-infer transformers-olmo2-infer
        transformers-cohere-infer transformers-resnet-infer transformers-phi3-infer
        block-patches-infer conv-separable-infer family-branches-infer region-mixed-infer
        region-mixed-dynamic optimizer-radam
    """,
}
"""The same of the half that only judges: of these only totals are looked at."""
Of = Callable[[Call], Nodes]
HEAD = "| {} | calls | torch = ours | torch = truth | ours = truth |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--shown", type=int, default=1, help="examples of each difference")
    parser.add_argument("--record", action="store_true", help="compile the programs first")
    parser.add_argument("--held", action="store_true", help="programs that only judge instead")
    options = parser.parse_args()
    for device, names in (HELD if options.held else PROGRAMS).items() if options.record else ():
        record = [sys.executable, "-m", "bench.provenance.record", options.out, device]
        subprocess.run([*record, *names.split()], check=True)
    graphs: list[Graph] = []
    for folder in sorted(options.out.iterdir()):
        if (folder / "truth.json").is_file():
            graphs += graphs_of(folder)
    show_agreement(graphs)
    show_differences(graphs, 0 if options.held else options.shown)


def show_agreement(graphs: list[Graph]) -> None:
    pairs = [(graph, call) for graph in graphs for call in graph.calls]
    programs = dict.fromkeys(call.program for _, call in pairs)
    print(HEAD.format("program"))
    print("| --- | --- | --- | --- | --- |")
    for program in programs:
        print(_row(program, [pair for pair in pairs if pair[1].program == program]))
    print()
    print(HEAD.format(f"{len(programs)} programs"))
    print("| --- | --- | --- | --- | --- |")
    groups: dict[str, Callable[[Call], bool]] = {
        "all": lambda _: True,
        "C++ kernels": lambda call: call.program.startswith("cpu") and not call.library,
        "Triton kernels": lambda call: call.program.startswith("cuda") and not call.library,
        "library calls": lambda call: call.library,
        "in regions and branches": lambda call: bool(call.inside),
        "in the file of a forward": lambda call: call.written,
        "of a backward, in no file": lambda call: not call.written,
    }
    for title, wanted in groups.items():
        print(_row(title, [pair for pair in pairs if wanted(pair[1])]))
    print(_row("all, with nodes that no call computes", pairs, "calls"))
    print(_row("all, with views, inputs and items too", pairs, "all"))
    none = sum(call.torch is None for _, call in pairs)
    apart = sum(call.given != call.ours for _, call in pairs)
    print(f"\n{none} calls are not in torch's record at all.")
    print(f"With torch's file at hand, our links of {apart} calls are other ones.")
    right = sum(call.given == call.truth for _, call in pairs)
    print(f"Then {right} are as recorded, instead of {sum(c.ours == c.truth for _, c in pairs)}.")


def _row(title: str, pairs: list[tuple[Graph, Call]], level: str = "computed") -> str:
    def alike(one: Of, other: Of) -> str:
        same = sum(
            graph.kept(call, one(call), level) == graph.kept(call, other(call), level)
            for graph, call in pairs
        )
        return f"{same} ({100 * same / max(len(pairs), 1):.1f} %)"

    columns = (alike(torch, ours), alike(torch, truth), alike(ours, truth))
    return f"| {title} | {len(pairs)} | {' | '.join(columns)} |"


def torch(call: Call) -> Nodes:
    return call.torch or frozenset()


def ours(call: Call) -> Nodes:
    return call.ours


def truth(call: Call) -> Nodes:
    return call.truth


def show_differences(graphs: list[Graph], shown: int) -> None:
    """Each node that one record has and the truth has not, or the other way round."""
    for title, of in (("torch", torch), ("ours", ours)):
        kinds: Counter[str] = Counter()
        calls: dict[str, set[Call]] = defaultdict(set)
        examples: dict[str, list[str]] = defaultdict(list)
        for graph in graphs:
            for call in graph.calls:
                if call.torch is None and of is torch:
                    continue
                where = f"{call.program} {call.graph}:{call.line} {call.kernel}"
                for name in sorted(of(call) - call.truth):
                    kind = f"lists: {graph.too_many(call, name)}"
                    kinds[kind] += 1
                    calls[kind].add(call)
                    others = graph.computed[call.inside].get(name, [])
                    by = f", computed by {others[0].kernel}:{others[0].line}" if others else ""
                    examples[kind].append(f"{name}{by} in {where}")
                for name in sorted(call.truth - of(call)):
                    kind = f"misses: {graph.too_few(call, name)}"
                    kinds[kind] += 1
                    calls[kind].add(call)
                    examples[kind].append(f"{name} in {where} {sorted(of(call))[:6]}")
        print(f"\n{title}, beside the truth: nodes, calls")
        for kind, count in kinds.most_common():
            print(f"{count:6} {len(calls[kind]):5}  {kind}")
            step = max(1, len(examples[kind]) // max(shown, 1))
            for example in examples[kind][::step][:shown]:
                print(f"              {example}")


if __name__ == "__main__":
    main()
