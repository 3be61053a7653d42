// Runs before the page is parsed: the chosen theme, and what the panes wait for. That is fetched and taken
// apart while the explorer's own script is still being fetched and compiled, and so is what stands around
// the panes laid out.
import "../theme-first";
import { selectSomething } from "./caret";
import { readOpening } from "./opening";

const url = document.currentScript?.dataset.openingUrl;
if (url) {
  const opening = readOpening(url);
  opening.catch(() => undefined); // who needs it asks again, part by part
  window.inductorscope = { ...window.inductorscope, opening };
}

function layOut(): void {
  const styles = document.querySelector<HTMLLinkElement>("link[rel=stylesheet]");
  if (styles?.sheet) selectSomething();
}

document.addEventListener("readystatechange", layOut, { once: true });
