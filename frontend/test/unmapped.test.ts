import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphPicture, Links } from "../src/explorer/shapes";
import { LinkIndex } from "../src/explorer/state/links";
import { unmappedLines, unmappedNodes } from "../src/explorer/state/unmapped";

const CODE = `\
# comment of tmp9
one = async_compile.triton('one', '''
import triton
@triton.jit
def one(in_ptr0, out_ptr0, xnumel, XBLOCK):
    xnumel = 8
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = -tmp0
    tmp2 = tmp1 * 2
    tl.store(out_ptr0 + (x0), tmp2, xmask)


def get_args():
    tmp5 = rand_strided((8,), (1,))
''', device_str='cuda')
`.split("\n");
const GRAPH = `\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]"):
        # File: /u/m.py:3 in f, code: return -x * 2
        neg: "f32[8][1]cuda:0" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
        mul: "f32[8][1]cuda:0" = torch.ops.aten.mul.Tensor(neg, 2);  neg = None
        view: "f32[2, 4][4, 1]cuda:0" = torch.ops.aten.view.default(mul, [2, 4])
        lone: "f32[8][1]cuda:0" = torch.ops.aten.sin.default(mul);  lone = None
        getitem: "f32[8][1]cuda:0" = mul[0];  mul = None
        return (view, getitem)
`.split("\n");
const ENTITIES = ["fx:neg", "fx:mul", "fx:view", "fx:lone", "fx:getitem", "op:op0.mul"];
const at = (...rows: [number, number, number][]) => ({
  lines: rows.map((row) => row[0]),
  entities: rows.map((row) => row[1]),
  confidence: rows.map((row) => row[2]),
  call: rows.map(() => -1),
});
const LINKS: Links = {
  engine: "1",
  entities: ENTITIES,
  stages: {
    post_grad: at([4, 0, 3], [5, 1, 3], [6, 2, 3], [7, 3, 3], [8, 4, 3]),
    ir_post: at([1, 5, 3]),
    code: at([2, 1, 1], [7, 0, 2], [8, 0, 2], [9, 5, 2]),
  },
};
const PICTURE = {
  stages: [],
  kernels: [{ name: "one", kind: "triton", category: "pointwise", first: 2, last: 15, calls: [] }],
} as unknown as GraphPicture;
const INDEX = new LinkIndex(LINKS);

test("lines that compute and name no node are listed with the reason, and no others", () => {
  const found = unmappedLines(INDEX, PICTURE, CODE);
  assert.deepEqual(
    found.map(({ line, reason }) => [line, reason]),
    [
      [9, "The line is op0.mul; its FX node is not known."],
      [10, "No operation of the kernel's loop bodies fits this line."],
    ],
  );
});

test("of a line whose node is a guess the guess is told", () => {
  const code = at([7, 0, 2], [8, 0, 2], [9, 5, 2], [10, 1, 1], [10, 5, 2]);
  const index = new LinkIndex({ ...LINKS, stages: { ...LINKS.stages, code } });
  const reasons = unmappedLines(index, PICTURE, CODE).map(({ reason }) => reason);
  assert.match(reasons[1] ?? "", /as a guess within the kernel, .* likely mul\.$/);
});

test("without IR that is the reason", () => {
  const { ir_post: _, ...stages } = LINKS.stages;
  const found = unmappedLines(new LinkIndex({ ...LINKS, stages }), PICTURE, CODE);
  assert.match(found.at(-1)?.reason ?? "", /No IR was uploaded/);
});

test("nodes that the code never names are listed with the reason", () => {
  const found = unmappedNodes(INDEX, GRAPH);
  assert.deepEqual(
    found.map(({ line, reason }) => [line, reason]),
    [
      [6, "It is another view of the same memory and needs no code."],
      [7, "Nothing uses its value, so no code was written for it."],
      [8, "It picks one result of another node and needs no code."],
    ],
  );
});
