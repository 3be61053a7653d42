import assert from "node:assert/strict";
import { test } from "node:test";
import { differencesOf } from "../src/explorer/beside/tally";
import { level } from "../src/explorer/code/level";
import { meaningOf, withoutNoise } from "../src/explorer/code/noise";
import { atOnce } from "../src/shared/frames";

const lines = (...texts: string[]) =>
  texts.map((text) => ({ tokens: [text.trim(), text.replace(/\d+/g, "")], text }));

test("comments, paths and numbers of names say nothing; pragmas and other numbers do", () => {
  assert.equal(meaningOf("# kernel path: /tmp/cache/ca/ccar5.py"), "");
  assert.equal(meaningOf("  // buf3 is read"), "");
  assert.equal(meaningOf("tmp4 = tmp3 + tmp1  # sum"), meaningOf("tmp9 = tmp8 + tmp2"));
  assert.equal(meaningOf('open("/tmp/a/b.py")'), meaningOf('open("/home/c/d.py")'));
  assert.notEqual(meaningOf("#pragma omp parallel"), "");
  assert.notEqual(meaningOf("xnumel = 1024"), meaningOf("xnumel = 2048"));
});

test("differences that say nothing are left out, and walked past", () => {
  const left = lines("# one", "buf1 = empty(4)", "x = 1", "end");
  const right = lines("# two", "# more", "buf7 = empty(4)", "x = 2", "new", "end");
  const all = atOnce(level(left, right));
  const [ours, theirs] = atOnce(withoutNoise(all, [left, right]));
  assert.ok(all[0].changed.has(2));
  assert.ok(!ours.changed.has(2));
  assert.ok(all[1].only.has(1) || all[1].only.has(2));
  assert.ok(!theirs.only.has(1) && !theirs.only.has(2));
  assert.deepEqual(differencesOf(ours, theirs, left.length, right.length), [3, 4]);
  assert.deepEqual(differencesOf(...all, left.length, right.length)[0], 1);
});
