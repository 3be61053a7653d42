// The upload panel: what is being sent or read, its progress, and the result.
import type { JobProgress } from "../shared/api";
import { button, make } from "../shared/elements";
import { bytes, count } from "../shared/figures";
import { sentenceOf } from "../shared/server";
import { chosen, dropped, nameOf, type Picked } from "./collect";
import { figureOf, follow } from "./progress";
import { Sending } from "./send";

class Panel {
  private readonly root = make("section", { class: "toast", "aria-label": "Upload" });
  private readonly title = make("h2");
  private readonly bar = make("progress", { "aria-label": "Progress", max: 1 });
  private readonly words = make("p", { role: "status" });
  private readonly outcome = make("div");
  private readonly actions = make("div", { class: "actions" });

  constructor(name: string) {
    this.title.textContent = name;
    this.root.append(this.title, this.bar, this.words, this.outcome, this.actions);
    document.querySelector(".toast")?.remove();
    document.body.append(this.root);
  }

  far(words: string, done: number, total: number | null): void {
    this.words.textContent = words;
    if (total) this.bar.value = done / total;
    else this.bar.removeAttribute("value");
  }

  act(...buttons: HTMLElement[]): void {
    this.actions.replaceChildren(...buttons);
  }

  end(...outcome: Node[]): void {
    this.bar.hidden = true;
    this.words.hidden = true;
    this.outcome.replaceChildren(...outcome);
  }

  close(): void {
    this.root.remove();
  }
}

function problem(panel: Panel, sentence: string, again: (() => void) | null): void {
  panel.end(make("p", { "data-testid": "upload-problem", role: "alert" }, sentence));
  const close = button("Close", {}, () => panel.close());
  panel.act(...(again ? [button("Try again", { class: "button main" }, again)] : []), close);
}

function result(panel: Panel, run: string, duplicate: boolean, message: string | null): void {
  const words = duplicate ? "This was here already. " : `${message ?? "Read."} `;
  const open = duplicate ? "Open the existing run" : "Open the run";
  const link = make("a", { href: `/runs/${run}` }, open);
  panel.end(make("p", { "data-testid": "upload-result", role: "status" }, words, link));
  panel.act(button("Close", {}, () => panel.close()));
  link.focus();
}

function watchJob(panel: Panel, job: string, again: () => void): void {
  const details = make("a", { class: "button", href: `/jobs/${job}` }, "Details");
  panel.act(details);
  let shown: string | null = null;
  const update = (progress: JobProgress) => {
    const figure = figureOf(progress);
    const words =
      progress.state === "queued" ? "Waiting for a worker" : progress.step || "Starting";
    panel.far(figure ? `${words}: ${figure}` : words, progress.done, progress.total);
    if (progress.run && progress.run !== shown) {
      shown = progress.run; // it can be opened while it is being read
      const href = `/runs/${progress.run}`;
      panel.act(make("a", { class: "button main", href }, "See the run so far"), details);
      document.dispatchEvent(new CustomEvent("runschange"));
    }
    if (progress.state === "done" && progress.run) {
      result(panel, progress.run, progress.duplicate, progress.message);
      document.dispatchEvent(new CustomEvent("runschange"));
    } else if (progress.state === "failed") {
      problem(panel, progress.message ?? "Reading failed; the job's page says more.", again);
    } else if (progress.state === "cancelled") {
      problem(panel, progress.message ?? "The job was cancelled.", again);
    }
  };
  follow(`/api/jobs/${job}/events`, update, (isAway) => {
    if (isAway) panel.far("The server is unreachable; waiting for it …", 0, null);
  });
}

export async function upload(picked: readonly Picked[]): Promise<void> {
  if (!picked.length) return;
  const panel = new Panel(nameOf(picked));
  const stopper = new AbortController();
  const again = () => void upload(picked);
  panel.act(button("Cancel", {}, () => stopper.abort(new Error("The upload was cancelled."))));
  let away = 0;
  const watch = {
    sent: (done: number, total: number) => {
      const words = `Sending ${count(picked.length, "file")}: ${bytes(done)} of ${bytes(total)}`;
      if (!away) panel.far(words, done, total);
    },
    waiting: (seconds: number) => {
      away = seconds;
      const words = `The server has not taken it for ${seconds} s; what has arrived is kept. Trying again …`;
      if (seconds) panel.far(words, 0, null);
    },
  };
  watch.sent(0, 1);
  const stay = (event: BeforeUnloadEvent) => event.preventDefault();
  window.addEventListener("beforeunload", stay);
  try {
    const job = await new Sending(picked, watch, stopper.signal).run(nameOf(picked));
    watchJob(panel, job, again);
  } catch (trouble) {
    problem(panel, sentenceOf(trouble), again);
  } finally {
    window.removeEventListener("beforeunload", stay);
  }
}

function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** Handles anything dropped on the page, or chosen in one of the inputs. */
export function startUploads(): void {
  const veil = make("div", { class: "drop-veil" }, "Drop it to upload");
  let depth = 0;
  document.addEventListener("dragenter", (event) => {
    if (!carriesFiles(event)) return;
    depth += 1;
    document.body.append(veil);
  });
  document.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (depth === 0) veil.remove();
  });
  document.addEventListener("dragover", (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    depth = 0;
    veil.remove();
    if (!event.dataTransfer || !carriesFiles(event)) return;
    event.preventDefault();
    void dropped(event.dataTransfer).then(upload, (trouble) => {
      problem(new Panel("Upload"), `What was dropped cannot be read: ${sentenceOf(trouble)}`, null);
    });
  });
  for (const input of document.querySelectorAll<HTMLInputElement>(
    "#upload-input, #upload-folder",
  )) {
    input.addEventListener("change", () => {
      if (input.files) void upload(chosen(input.files));
      input.value = "";
    });
  }
  document.addEventListener("click", (event) => {
    const opener =
      event.target instanceof Element ? event.target.closest<HTMLElement>("[data-opens]") : null;
    if (opener?.dataset.opens) document.getElementById(opener.dataset.opens)?.click();
  });
}
