// Entry of every page.
import htmx from "htmx.org";
import { choose } from "../shared/choices";
import { outOfReach, sentenceOf } from "../shared/server";
import { startJob } from "../upload/job";
import { startForms } from "./forms";
import { startTop } from "./header";
import { startLines } from "./lines";
import { startRuns } from "./runs";
import { startSaved } from "./saved";
import { announce } from "./share";
import { startTables } from "./tables";
import { startTimes } from "./times";

startTop();
startTimes();
startTables();
startRuns();
startSaved();
startForms();
startJob();
startLines();

// On a phone, the tabs of a run do not fit: scroll to the current one.
for (const tab of document.querySelectorAll<HTMLElement>(".run-nav [aria-current]")) {
  const row = tab.parentElement;
  row?.scrollTo({ left: tab.offsetLeft - (row.clientWidth - tab.clientWidth) / 2 });
}

// The columns of the list of runs: a letter for each hidden one.
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || !box.dataset.column) return;
  const hidden = document.querySelectorAll<HTMLInputElement>("[data-column]:not(:checked)");
  choose("runs-hide", [...hidden].map((each) => each.dataset.column).join("") || "0");
  document.dispatchEvent(new Event("runschange"));
});

// What is updated every few seconds is so again when the server is back.
document.addEventListener("htmx:error", ({ target, detail }: CustomEventInit & Event) => {
  const polls = target instanceof Element && target.matches('[hx-trigger^="every"]');
  if (!polls) announce(sentenceOf(outOfReach(detail.error)));
});

// Show a new run in the list at once.
document.addEventListener("runschange", () => {
  if (document.querySelector("#runs")) {
    void htmx.ajax("GET", location.href, { target: "#runs", select: "#runs", swap: "outerHTML" });
  }
});
