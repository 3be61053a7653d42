// Fetches a graph and its links, then starts the explorer in an element.

import { make } from "../shared/elements";
import { ask, sentenceOf } from "../shared/server";
import { startCommands } from "./commands";
import { Explorer } from "./explorer";
import { followAligning, followReading, readingStep } from "./reading";
import type { GraphPicture, Links } from "./shapes";
import { compileErrors } from "./state/compile-errors";
import { LinkIndex, linksOfShown } from "./state/links";
import { withPictures } from "./state/picture-stages";
import { Texts } from "./state/texts";
import { handleOf } from "./test-handle";
import { findable } from "./views/findable";

/** The explorer; null if the graph cannot be shown, which the element then says. */
export async function start(root: HTMLElement): Promise<Explorer | null> {
  const { explorerUrl, linksUrl } = root.dataset;
  if (!explorerUrl || !linksUrl) return null;
  const panes = root.querySelector(".panes");
  const texts = new Texts();
  try {
    const [picture, links] = await Promise.all([
      ask<GraphPicture>(explorerUrl),
      ask<Links>(linksUrl),
    ]);
    const { failuresUrl } = root.dataset;
    const errors = failuresUrl
      ? await compileErrors(failuresUrl, picture.graph.slug).catch(() => [])
      : [];
    picture.stages = withPictures(picture.stages);
    const shown = linksOfShown(links, picture.stages);
    panes?.replaceChildren();
    // Without a selection, CodeMirror searches for one at each change, which costs a layout of the
    // page.
    document.getSelection()?.collapse(document.body, 0);
    const run = picture.run.id;
    const isHalf = links.engine === "" || !picture.kernels.length;
    picture.reading = isHalf ? await readingStep(run).catch(() => null) : null;
    const explorer = new Explorer(root, picture, new LinkIndex(shown), texts, errors);
    startCommands(explorer);
    findable(explorer);
    if (picture.reading) {
      followReading({ run, explorerUrl, linksUrl }, (step) => explorer.readingIs(step));
    }
    if (picture.aligning) followAligning(explorerUrl);
    const handle = handleOf(explorer);
    window.inductorscope = { explorer: handle };
    await explorer.settled;
    handle.ready = true;
    root.dataset.ready = "true";
    return explorer;
  } catch (trouble) {
    const words = make("div", { class: "pane-empty", role: "alert" });
    words.append(
      make("b", {}, "The graph could not be shown."),
      make("p", {}, sentenceOf(trouble)),
    );
    panes?.replaceChildren(words);
    root.dataset.ready = "failed";
    return null;
  }
}
