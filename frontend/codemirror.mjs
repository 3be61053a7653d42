// What CodeMirror's view does otherwise here, so that a text is drawn and laid out once, not twice, and
// with few lines out of sight: panes stand four abreast, so that each layout and each line counts so often.
import { readFile } from "node:fs/promises";

/** Pixels of lines that are drawn out of sight, above and below together: where one scrolls, and around
 * a place that a selection leads to. */
const SCROLLED = 500;
const LED_TO = 100;
const MARGIN = "1000 /* VP.Margin */";

const CHANGES = [
  // Views begin without a height, and draw most of their lines once they have measured it. This guess
  // is right for panes, whose look `src/explorer/putting.ts` says.
  ["this.lineHeight = 14;", "this.lineHeight = 20;"],
  ["this.charWidth = 7;", "this.charWidth = 7.2;"],
  [
    "right: window.innerWidth, top: 0, bottom: 0 };",
    "right: window.innerWidth, top: 0, bottom: window.innerHeight * 0.8 };",
  ],
  ["Math.min(this.editorHeight, ", "Math.min(this.editorHeight || Infinity, "],
  // A view that begins within its text draws the lines there, not the first ones before.
  [
    "this.viewState.scrollTarget = config.scrollTo.value.clip(this.viewState.state);",
    "this.viewState.beginAt(config.scrollTo.value.clip(this.viewState.state));",
  ],
  [
    "    updateForViewport() {",
    `    beginAt(target) {
        this.scrollTarget = target;
        this.viewport = this.getViewport(0, target);
        this.updateForViewport();
        this.updateViewportLines();
        this.lineGaps = this.ensureLineGaps([]);
        this.lineGapDeco = Decoration.set(this.lineGaps.map(gap => gap.draw(this, false)));
        this.computeVisibleRanges();
    }
    updateForViewport() {`,
  ],
  // All views have letters of one size: measuring them costs a layout in each.
  [
    "    measureTextSize() {",
    `    measureTextSize() {
        const scale = window.devicePixelRatio;
        if (textSize?.scale != scale) textSize = { scale, ...this.measureText() };
        const { lineHeight } = textSize, found = textSize;
        if (!lineHeight) textSize = null; // it is not shown
        return found;
    }
    measureText() {`,
  ],
  ["class HeightOracle {", "let textSize = null;\nclass HeightOracle {"],
  // Fonts that come later would need a new measure, and asking whether some do costs a layout. None do here.
  [
    "if ((_a = document.fonts) === null || _a === void 0 ? void 0 : _a.ready)",
    "_a = null;\n        if (_a)",
  ],
  // Empty images around what stands for folded text: they help those who write, and nobody writes here.
  [
    "if (!noSpace && !(widget.flags & 16 /* TileFlag.Before */))\n            parent.append(this.getBuffer(1));",
    "",
  ],
  ["this.afterWidget.parent.append(this.getBuffer(-1));", ""],
  // Margins.
  ["getViewport(bias, scrollTarget) {", `getViewport(bias, scrollTarget, margin = ${LED_TO}) {`],
  [
    "this.viewport = this.getViewport(bias, this.scrollTarget);",
    `this.viewport = this.getViewport(bias, this.scrollTarget, led || this.scrollTarget ? ${LED_TO} : ${SCROLLED});`,
  ],
  [`bias / ${MARGIN}`, "bias / margin"],
  [`visibleTop - marginTop * ${MARGIN}`, "visibleTop - marginTop * margin"],
  [`(1 - marginTop) * ${MARGIN}`, "(1 - marginTop) * margin"],
  [`topPos - ${MARGIN}`, "topPos - margin"],
  [`topPos + viewHeight + ${MARGIN}`, "topPos + viewHeight + margin"],
  // The lines around a place that is led to are drawn at once, not those in sight before it is; when the
  // view has come there, it has all its lines.
  [
    "if (head < viewport.from || head > viewport.to) {\n                let viewHeight",
    'if (scrollTarget.y != "nearest" || head < viewport.from || head > viewport.to) {\n                let viewHeight',
  ],
  // A text that replaces another has none of the lines that were drawn, wherever those end up in it.
  [
    "if (scrollTarget && (scrollTarget.range.head < viewport.from",
    'if (scrollTarget && (!update.changes.empty && scrollTarget.y != "nearest" || scrollTarget.range.head < viewport.from',
  ],
  [
    "this.docView.scrollIntoView(this.viewState.scrollTarget);",
    "this.docView.scrollIntoView(this.viewState.scrollTarget);\nthis.viewState.ledTo = true;",
  ],
  [
    "let result = 0, bias = 0;",
    "let result = 0, bias = 0, led = this.ledTo;\n        this.ledTo = false;",
  ],
  [
    "if (dTop > 0 && dBottom > 0)\n                bias =",
    "if (!led && dTop > 0 && dBottom > 0)\n                bias =",
  ],
  [
    "else if (dTop < 0 && dBottom < 0)\n                bias =",
    "else if (!led && dTop < 0 && dBottom < 0)\n                bias =",
  ],
];

// A view knows the letters from its first measure on, also where no line had to be measured.
CHANGES.push([
  "if (oracle.mustRefreshForHeights(lineHeights))",
  "if (oracle.mustRefreshForHeights(lineHeights) || oracle.lineLength == 30 /* a guess */)",
]);

// Heights of lines. All are as high as a line is guessed to be, unless something else stands in them: then
// the last one does not end where it should, and each is measured, as it is where lines wrap.
CHANGES.push(
  [
    "measureVisibleLineHeights(viewport) {",
    `measureVisibleLineHeights(viewport) {
        if (!this.view.scrollDOM.clientHeight) return []; // behind another tab a line is not 0 high
        return this.isAsHighAsGuessed(viewport) ? [] : this.measureLines(viewport);
    }
    isAsHighAsGuessed({ from, to }) {
        let { view } = this, { viewState } = view, { children } = this.tile;
        if (view.lineWrapping || view.scaleY != 1 || !children.length) return false;
        let top = children[0].dom.getBoundingClientRect().top;
        let { bottom } = children[children.length - 1].dom.getBoundingClientRect();
        if (Math.abs(bottom - top - viewState.docHeight) > 0.1) return false;
        let { clientWidth } = view.contentDOM;
        if (clientWidth > Math.max(view.scrollDOM.clientWidth, this.minWidth) + 1)
            [this.minWidth, this.minWidthFrom, this.minWidthTo] = [clientWidth, from, to];
        return true;
    }
    measureLines(viewport) {`,
  ],
  // Parts of a text whose heights nothing changed are not gone through line by line, fold by fold.
  [
    "let { left, right } = this, rightStart = offset + left.length + this.break, rebalance = null;",
    `if (!force && !this.outdated && !(measured && measured.more && measured.from <= offset + this.length)) return this;
        let { left, right } = this, rightStart = offset + left.length + this.break, rebalance = null;`,
  ],
);

function changed(text, path) {
  return CHANGES.reduce((before, [old, now]) => {
    if (before.split(old).length !== 2) throw new Error(`${path} does not say once: ${old}`);
    return before.replace(old, () => now);
  }, text);
}

export const leanViews = {
  name: "lean-views",
  setup: (build) =>
    build.onLoad({ filter: /@codemirror\/view\/dist\/index\.js$/ }, async ({ path }) => ({
      contents: changed(await readFile(path, "utf8"), path),
    })),
};
