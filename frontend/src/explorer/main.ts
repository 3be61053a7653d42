// Entry of the explorer's page: fetch the graph and its links, then hand over.

import { startTop } from "../page/header";
import { make } from "../shared/elements";
import { ask, sentenceOf } from "../shared/server";
import { startUploads } from "../upload/panel";
import { Explorer } from "./explorer";
import { follow } from "./reading";
import type { GraphPicture, Links } from "./shapes";
import { LinkIndex } from "./state/links";
import { withPictures } from "./state/picture-stages";
import { Texts } from "./state/texts";
import { handleOf } from "./test-handle";

const LINES_EVERY_MS = 3000;

/** The graph may be looked at before it is all read. The rest then shows by itself: the address holds
 * the state of the page, so loading it anew loses nothing. */
async function waitFor(run: string, explorerUrl: string, linksUrl: string): Promise<string | null> {
  const links = async () => (await ask<Links>(linksUrl)).engine !== "";
  const kernels = async () => (await ask<GraphPicture>(explorerUrl)).kernels.length > 0;
  const isRead = async () => (await links()) || (await kernels());
  const told = (step: string) => window.inductorscope?.explorer?.told(step);
  return follow({ run, isRead, told, done: () => location.reload() }).catch(() => null);
}

/** Lines of kernels are aligned after all else is here: then the page shows them. */
function waitForLines(explorerUrl: string): void {
  const look = async (): Promise<void> => {
    const aligning = await ask<GraphPicture>(explorerUrl).then(
      (picture) => picture.aligning,
      () => true, // the server may be restarting: the next look tries again
    );
    if (!aligning) location.reload();
    else setTimeout(() => void look(), LINES_EVERY_MS);
  };
  setTimeout(() => void look(), LINES_EVERY_MS);
}

async function start(root: HTMLElement): Promise<void> {
  const { explorerUrl, linksUrl } = root.dataset;
  if (!explorerUrl || !linksUrl) return;
  const nonce = document.querySelector<HTMLElement>("link[nonce]")?.nonce ?? "";
  const panes = root.querySelector(".panes");
  const texts = new Texts((artifact) => `/api/artifacts/${artifact}/text`);
  try {
    const [picture, links] = await Promise.all([
      ask<GraphPicture>(explorerUrl),
      ask<Links>(linksUrl),
    ]);
    picture.stages = withPictures(picture.stages);
    panes?.replaceChildren();
    const half = links.engine === "" || !picture.kernels.length;
    picture.reading = half ? await waitFor(picture.run.id, explorerUrl, linksUrl) : null;
    if (picture.aligning) waitForLines(explorerUrl);
    const explorer = new Explorer(root, picture, new LinkIndex(links), texts, nonce);
    const handle = handleOf(explorer);
    window.inductorscope = { explorer: handle };
    await explorer.settled;
    handle.ready = true;
    root.dataset.ready = "true";
  } catch (trouble) {
    const words = make("div", { class: "pane-empty", role: "alert" });
    words.append(
      make("b", {}, "The graph could not be shown."),
      make("p", {}, sentenceOf(trouble)),
    );
    words.append(make("p", {}, "Load the page again; if it stays so, see the server's log."));
    panes?.replaceChildren(words);
    root.dataset.ready = "failed";
  }
}

startTop();
startUploads();
const root = document.querySelector<HTMLElement>("#explorer");
if (root) void start(root);
