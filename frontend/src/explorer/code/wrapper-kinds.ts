// A symbol for what each line of a wrapper does: most lines handle memory, and readers look for the
// calls.
import type { Extension } from "@codemirror/state";
import { gutter } from "@codemirror/view";
import { Sign } from "./elements";

export type WrapperKind = "allocate" | "reuse" | "free" | "view" | "call" | "library call";

/** Each with an example. The first that matches counts. */
const KINDS: [WrapperKind, RegExp][] = [
  // buf3 = buf2; del buf2  # reuse
  ["reuse", /^\s*\w+ = \w+; *del \w+.*# reuse/],
  // buf4 = reinterpret_tensor(buf3, (64, 32), (1, 64), 0)  # alias
  ["view", /^\s*\w+ = (?:reinterpret_tensor|alloc_from_pool)\(/],
  // buf2 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
  ["allocate", /^\s*\w+ = (?:empty_strided\w*|torch\.empty\w*|rand_strided)\(/],
  // del buf3
  ["free", /^\s*del \w/],
  // extern_kernels.mm(…), buf5 = torch.ops.aten.cumsum.default(…)
  ["library call", /^\s*(?:\w+ = )?(?:extern_kernels\.|torch\.ops\.|aten\.)\w/],
  // triton_poi_fused_neg_0.run(…), cpp_fused_add_0(…), kernels.cpp_fused_0(…)
  ["call", /^\s*(?:[\w.]+\.run\(|(?:\w+\.)?(?:cpp|triton)_\w+\()/],
];

const SIGNS: Record<WrapperKind, string> = {
  allocate: "+",
  reuse: "↻",
  free: "−",
  view: "≈",
  call: "▶",
  "library call": "▷",
};
const WORDS: Record<WrapperKind, string> = {
  allocate: "Allocates memory",
  reuse: "Reuses another buffer's memory",
  free: "Frees memory, or drops a reference to it",
  view: "Renames memory; computes nothing",
  call: "Calls a generated kernel",
  "library call": "Calls a library kernel",
};

export function wrapperKind(text: string): WrapperKind | null {
  return KINDS.find(([, sample]) => sample.test(text))?.[0] ?? null;
}

function signOf(kind: WrapperKind): Sign {
  return new Sign(kind.endsWith("call") ? "sign does" : "sign", WORDS[kind], SIGNS[kind]);
}

export const wrapperSigns: Extension = gutter({
  class: "wrapper-signs",
  lineMarker: (view, block) => {
    const kind = wrapperKind(view.state.doc.lineAt(block.from).text);
    return kind && signOf(kind);
  },
  initialSpacer: () => signOf("allocate"),
});
