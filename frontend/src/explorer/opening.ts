// What the first panes wait for, in one answer: a line of JSON that counts bytes, then the graph, its
// links and the texts.
import type { GraphPicture, Links } from "./shapes";

export interface Opening {
  picture: GraphPicture;
  links: Links;
  /** By their artifacts. */
  texts: ReadonlyMap<number, string>;
}

interface Head {
  explorer: number;
  links: number;
  texts: [artifact: number, bytes: number][];
}

const LINE_END = 10;

function parted(bytes: Uint8Array): Opening {
  const decoder = new TextDecoder();
  let at = 0;
  const part = (size: number): string => {
    at += size;
    return decoder.decode(bytes.subarray(at - size, at));
  };
  const head: Head = JSON.parse(part(bytes.indexOf(LINE_END) + 1));
  return {
    picture: JSON.parse(part(head.explorer)),
    links: JSON.parse(part(head.links)),
    texts: new Map(head.texts.map(([artifact, size]) => [artifact, part(size)])),
  };
}

/** Fetch it. What the page's head began to fetch is taken by such a request at any time; by `fetch` it
 * would be fetched again as soon as more than two megabytes of it are here. */
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
