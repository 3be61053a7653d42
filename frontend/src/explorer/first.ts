// Runs before the page is parsed. What the panes wait for is fetched and taken apart while the explorer's
// own script is still being fetched and compiled, and so is what stands around the panes laid out.
import { selectSomething } from "./caret";
import { readLinks, readOpening } from "./opening";

const { openingUrl, linksUrl } = document.currentScript?.dataset ?? {};
if (openingUrl && linksUrl) {
  const [opening, links] = [readOpening(openingUrl), readLinks(linksUrl)];
  for (const each of [opening, links]) each.catch(() => undefined); // who needs it asks again
  window.inductorscope = { ...window.inductorscope, opening, links };
  const parsed = new Promise<void>((done) => {
    document.addEventListener("readystatechange", () => done(), { once: true });
  });
  void Promise.allSettled([opening, parsed]).then(() => {
    const styles = document.querySelector<HTMLLinkElement>("link[rel=stylesheet]");
    if (styles?.sheet) selectSomething();
  });
}
