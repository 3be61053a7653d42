// Entry of an exported file. Shows the pages in the file: their unchanged scripts get a location, a
// history and a fetch that read from the file instead of a server. The address of a page follows
// the #.
import { announce } from "../page/share";
import { once } from "../shared/once";

/** Block, first byte, length and type of an answer. */
type Where = [number, number, number, string];
interface Contents {
  start: string;
  /** A note for the reader about the file, if any. */
  note: string;
  /** A string is an address that this one redirects to. */
  answers: Record<string, Where | string>;
}

const NONCE = "inductorscope";
/** Features that need a server: other runs, changes to this one, the Markdown of a page. */
const NEEDS_SERVER = ".export, .top a.button, #as-markdown, .rename, [id^=rename-]";
const LACKING = "This is not in the file. Send the file to a server to see it.";
/** The file's encoding, in which each character is a byte. */
const CHARSET = "windows-1252";
const BYTES = new Map(
  [...new TextDecoder(CHARSET).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))].map(
    (character, byte) => [character.charCodeAt(0), byte],
  ),
);
const browser = window.location;
const blocks = [...(await whole()).querySelectorAll<HTMLElement>(".block")];
const block = once((number: number) => unpack(bytesOf(blocks[number]?.textContent ?? "")));
/** A module of the bundle, with its imports, as an address that the browser can load. */
const moduleAt = once((path: string) => makeModule(addressed(path)));
const contents = JSON.parse(new TextDecoder().decode(await block(0))) as Contents;

/** The document. If a server declared another encoding, the text is garbled and must be fetched
 * again. */
async function whole(): Promise<ParentNode> {
  if (document.characterSet === CHARSET) return document;
  const bytes = await (await fetch(browser.pathname)).arrayBuffer();
  return new DOMParser().parseFromString(new TextDecoder(CHARSET).decode(bytes), "text/html");
}

/** The bytes of characters; a `=` escapes the next one. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  let size = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 61) bytes[size++] = text.charCodeAt(++at) ^ 64;
    else bytes[size++] = code < 256 ? code : (BYTES.get(code) ?? 0);
  }
  return bytes.subarray(0, size);
}

async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function addressed(address: string | URL, base?: URL): URL {
  return new URL(address, base ?? "http://file");
}

/** The address of the current page. */
function here(): URL {
  return resolved(addressed(browser.hash.slice(1) || contents.start));
}

function fragment(url: URL): string {
  return `#${url.pathname}${url.search}${url.hash}`;
}

function isExplorer(url: URL): boolean {
  return /^\/runs\/[^/]+\/graphs\/[^/]+$/.test(url.pathname);
}

function held(url: URL): Where | string | undefined {
  const plain = isExplorer(url) || url.pathname.startsWith("/static/");
  return contents.answers[plain ? url.pathname : url.pathname + url.search];
}

/** The address that an address redirects to. */
function resolved(url: URL): URL {
  const answer = held(url);
  return typeof answer === "string" ? addressed(answer) : url;
}

function find(url: URL): Where | undefined {
  const answer = held(url);
  return typeof answer === "string" ? undefined : answer;
}

async function bytesAt([number, first, length]: Where): Promise<Uint8Array<ArrayBuffer>> {
  return (await block(number)).subarray(first, first + length);
}

async function textAt(where: Where): Promise<string> {
  return new TextDecoder().decode(await bytesAt(where));
}

async function answer(input: string | URL): Promise<Response> {
  const where = find(addressed(input, here()));
  if (where) return new Response(await bytesAt(where), { headers: { "content-type": where[3] } });
  return Response.json({ error: { what: LACKING } }, { status: 404 });
}

function go(address: string | URL): void {
  const url = resolved(addressed(address, here()));
  if (!find(url)) {
    announce(LACKING);
    return;
  }
  history.pushState(null, "", fragment(url)); // the previous page must not notice
  browser.reload(); // the next page starts with fresh scripts, as from a server
}

const moves = { href: browser.href, assign: go, replace: go, reload: () => browser.reload() };
const place = new Proxy(moves, {
  get: (own, name) => Reflect.get(name === "href" ? browser : name in own ? own : here(), name),
});

const past = {
  pushState: (state: unknown, title: string, address: string) =>
    history.pushState(state, title, fragment(addressed(address, here()))),
  replaceState: (state: unknown, title: string, address: string) =>
    history.replaceState(state, title, fragment(addressed(address, here()))),
  back: () => history.back(),
};

Object.assign(window, { inductorscopeFile: { location: place, history: past, fetch: answer } });
const BEFORE_MODULES = "const {location, history, fetch} = window.inductorscopeFile;\n";

async function makeModule(url: URL): Promise<string> {
  const where = find(url);
  let text = where ? await textAt(where) : "";
  const imported = new Set(
    [...text.matchAll(/["'](\.\/[\w./-]+\.js)["']/g)].map(([, name]) => name ?? ""),
  );
  for (const name of imported) {
    const address = await moduleAt(addressed(name, url).pathname);
    text = text.replaceAll(`"${name}"`, `"${address}"`).replaceAll(`'${name}'`, `"${address}"`);
  }
  return URL.createObjectURL(new Blob([BEFORE_MODULES, text], { type: "text/javascript" }));
}

async function style(link: HTMLLinkElement): Promise<void> {
  const where = find(addressed(link.getAttribute("href") ?? ""));
  link.removeAttribute("href");
  link.nonce = NONCE; // where editors of code look for it
  const sheet = document.createElement("style");
  sheet.nonce = NONCE;
  sheet.textContent = where ? await textAt(where) : "";
  link.after(sheet);
}

async function show(): Promise<void> {
  const where = find(here());
  if (!where) {
    document.body.textContent = LACKING;
    return;
  }
  const page = new DOMParser().parseFromString(await textAt(where), "text/html");
  for (const link of page.querySelectorAll("link[rel=modulepreload], link[rel=preload]"))
    link.remove();
  for (const link of page.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]"))
    await style(link);
  for (const each of page.querySelectorAll(NEEDS_SERVER)) each.remove();
  if (contents.note) {
    page
      .querySelector(".top .grow")
      ?.insertAdjacentHTML(
        "afterend",
        '<button class="chip warn" popovertarget="file-note">About this file</button>' +
          '<p popover class="popup" id="file-note"></p>',
      );
    page.querySelector("#file-note")?.append(contents.note);
  }
  const scripts = [...page.querySelectorAll<HTMLScriptElement>("script[src]")];
  const sources = scripts.map((script) => addressed(script.getAttribute("src") ?? "").pathname);
  for (const script of scripts) script.remove();
  for (const { name, value } of page.documentElement.attributes)
    document.documentElement.setAttribute(name, value);
  document.documentElement.replaceChildren(page.head, page.body);
  for (const source of sources) {
    const script = document.createElement("script");
    script.type = "module";
    script.src = await moduleAt(source);
    document.head.append(script);
  }
  for (const link of document.querySelectorAll<HTMLAnchorElement>(
    ":is(nav, .actions) a[href]:not([aria-current])",
  )) {
    if (find(resolved(addressed(link.getAttribute("href") ?? "", here())))) continue;
    link.classList.add("lacks");
    link.title = LACKING;
  }
  const part = here().hash.slice(1);
  if (part) document.getElementById(part)?.scrollIntoView();
}

document.addEventListener(
  "click",
  (event) => {
    if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    const href = event.target.closest("a[href]")?.getAttribute("href");
    if (!href || /^[a-z]+:/.test(href)) return;
    event.preventDefault();
    event.stopPropagation();
    const url = addressed(href, here());
    if (!href.startsWith("#")) return go(url);
    history.pushState(null, "", fragment(url));
    document.getElementById(href.slice(1))?.scrollIntoView();
  },
  { capture: true },
);

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  event.preventDefault();
  announce(LACKING);
});

// Within a page, that page has the header.
document.documentElement.classList.toggle("framed", window.parent !== window);
const opened = here();
window.addEventListener("popstate", (event) => {
  const now = here();
  const sameQuery = isExplorer(now) || now.search === opened.search;
  if (now.pathname === opened.pathname && sameQuery) return;
  event.stopImmediatePropagation();
  browser.reload();
});

void show();
