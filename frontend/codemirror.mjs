// CodeMirror draws 1000 pixels of lines out of sight, above and below together. The explorer has four
// views side by side and a selection scrolls all of them, so it draws fewer here.
// Upstream: offer an option of `EditorView` for this margin, which is the constant `VP.Margin` today.
import { readFile } from "node:fs/promises";

const MARGIN = "1000 /* VP.Margin */";
const PIXELS = 200;

export const narrowMargin = {
  name: "narrow-margin",
  setup: (build) =>
    build.onLoad({ filter: /@codemirror\/view\/dist\/index\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (!text.includes(MARGIN)) throw new Error(`${path} has no ${MARGIN}`);
      return { contents: text.replaceAll(MARGIN, String(PIXELS)) };
    }),
};
