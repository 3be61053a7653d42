// What the playground's editor completes: names of modules, through the code's imports, and tensors'.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { completing } from "../src/play/completion";

const NAMES = {
  torch: ["relu", "nn"],
  "torch.nn": ["Linear"],
  "torch.nn.functional": ["gelu"],
  "torch.Tensor": ["sum"],
};
const IMPORTS =
  "import torch\nimport torch.nn.functional as F\nfrom torch import nn, nn as layers\n";

function completed(line: string, explicit = false): string[] | null {
  const state = EditorState.create({ doc: IMPORTS + line });
  const found = completing(NAMES)(new CompletionContext(state, state.doc.length, explicit));
  return found?.options.map(({ label }) => label) ?? null;
}

test("names come from the module before the dot, and a tensor's where there is none", () => {
  assert.deepEqual(completed("y = torch.re"), ["relu", "nn"]);
  assert.deepEqual(completed("y = F."), ["gelu"]);
  assert.deepEqual(completed("y = nn.Li"), ["Linear"]);
  assert.deepEqual(completed("y = layers."), ["Linear"]);
  assert.deepEqual(completed("y = torch.nn.functional."), ["gelu"]);
  assert.deepEqual(completed("y = (x + 1)."), ["sum"]);
  assert.deepEqual(completed("y = torch.unknown."), []);
});

test("nothing is offered in numbers, comments and plain words, unless a word is asked for", () => {
  for (const line of ["y = 0.", "# Ends.", "y = tor"]) assert.equal(completed(line), null);
  assert.deepEqual(completed("y = tor", true), ["torch"]);
});
