// What the first panes wait for: the graph and their texts, in one answer after a line of JSON that
// counts bytes; and the links, which nothing looks at before something is selected.
import type { GraphPicture, Links } from "./shapes";

export interface Opening {
  picture: GraphPicture;
  /** Whether the graph has links, or they are still to come. */
  linked: boolean;
  /** By their artifacts. */
  texts: ReadonlyMap<number, string>;
}

interface Head {
  linked: boolean;
  explorer: number;
  texts: [artifact: number, bytes: number][];
}

/** To be taken apart when they are needed: that takes as long as drawing a pane. */
export type ComingLinks = () => Links;

const LINE_END = 10;

function parted(bytes: Uint8Array): Opening {
  const decoder = new TextDecoder();
  let at = 0;
  const part = (size: number): string => {
    at += size;
    return decoder.decode(bytes.subarray(at - size, at));
  };
  const { linked, explorer, texts }: Head = JSON.parse(part(bytes.indexOf(LINE_END) + 1));
  return {
    picture: JSON.parse(part(explorer)),
    linked,
    texts: new Map(texts.map(([artifact, size]) => [artifact, part(size)])),
  };
}

/** What the page's head began to fetch is taken by such a request at any time; by `fetch` it would be
 * fetched again as soon as more than two megabytes of it are here. */
function fetched(url: string): Promise<ArrayBuffer> {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "arraybuffer";
    request.onload = () => {
      if (request.status === 200) done(request.response);
      else failed(new Error(`The server answered with status ${request.status}.`));
    };
    request.onerror = () => failed(new TypeError("The server cannot be reached."));
    request.send();
  });
}

export async function readOpening(url: string): Promise<Opening> {
  return parted(new Uint8Array(await fetched(url)));
}

export async function readLinks(url: string): Promise<ComingLinks> {
  const bytes = await fetched(url);
  return () => JSON.parse(new TextDecoder().decode(bytes));
}
