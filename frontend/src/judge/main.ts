// Entry of the page that edits a kernel: has edits judged, and shows the verdicts beside the editor.

import { startTop } from "../page/header";
import { Editor } from "../play/editor";
import type { Attempt, Configurations } from "../shared/api";
import { count } from "../shared/figures";
import { ask, askText, sentenceOf } from "../shared/server";
import { drawTimes, type Tried } from "./sweep";

class Judging {
  private readonly editor: Editor;
  private readonly button = document.querySelector<HTMLButtonElement>("#judge");
  /** Names what was typed at an address, which stays when the page is loaded again. */
  private key = `edit ${location.href}`;
  private busy = false;

  constructor(private readonly root: HTMLElement) {
    const typed = this.part<HTMLTextAreaElement>("textarea");
    const events = { compile: () => void this.judge(), edited: () => this.keep(), reached() {} };
    const text = localStorage.getItem(this.key) ?? typed.value;
    this.editor = new Editor(this.part(".play-editor"), text, events, root.dataset.language);
    typed.remove();
    this.showError();
    this.editor.view.focus();
    this.button?.addEventListener("click", () => void this.judge());
    document.querySelector("#sweep")?.addEventListener("click", () => void this.sweep());
    document.querySelector("#original")?.addEventListener("click", () => {
      this.editor.text = typed.dataset.original ?? "";
      this.editor.view.focus();
    });
    window.addEventListener("popstate", () => location.reload());
    if (!this.button?.disabled) this.send("").catch((trouble) => this.say(sentenceOf(trouble)));
  }

  private part<Kind extends HTMLElement>(selector: string): Kind {
    return this.root.querySelector(selector) as Kind;
  }

  private say(words: string): void {
    this.part(".judge-status").textContent = words;
  }

  private keep(): void {
    localStorage.setItem(this.key, this.editor.text);
  }

  /** Have code judged; without any, only the judge's process starts. */
  private send(code: string): Promise<Attempt> {
    return ask(`${this.root.dataset.api}/judge`, { method: "POST", body: { code } });
  }

  private async judge(): Promise<void> {
    if (this.busy || this.button?.disabled) return;
    this.busy = true;
    this.say("Compiling, checking and timing …");
    const begin = performance.now();
    try {
      const code = this.editor.text;
      const { id } = await this.send(code);
      const address = `${location.pathname}?attempt=${id}`;
      const text = await askText(address, { "hx-request": "true" });
      const shown = new DOMParser().parseFromString(text, "text/html").querySelector(".verdict");
      if (!shown) throw new Error("The verdict could not be shown.");
      this.part(".verdict").replaceWith(document.adoptNode(shown));
      localStorage.removeItem(this.key);
      history.pushState(null, "", address);
      this.key = `edit ${location.href}`;
      if (this.editor.text === code) this.showError();
      else this.keep();
      this.say(`Shown ${((performance.now() - begin) / 1000).toFixed(1)} s after the edit.`);
    } catch (trouble) {
      this.say(sentenceOf(trouble));
    }
    this.busy = false;
  }

  /** Have other configurations of what is typed judged in turn, and draw their times. */
  private async sweep(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    const begin = performance.now();
    const tried: Tried[] = [];
    try {
      const address = `${this.root.dataset.api}/configurations`;
      const body = { code: this.editor.text };
      const { offered } = await ask<Configurations>(address, { method: "POST", body });
      for (const { label, text } of offered) {
        this.say(`Judging ${tried.length + 1} of ${offered.length}: ${label} …`);
        tried.push({ label, attempt: await this.send(text) });
        drawTimes(this.part(".sweep"), tried);
      }
      const seconds = ((performance.now() - begin) / 1000).toFixed(1);
      this.say(
        offered.length
          ? `${count(tried.length, "configuration")} in ${seconds} s. Each is an attempt of its own.`
          : "There is nothing to choose: it names no blocks that are known here, and no threads.",
      );
    } catch (trouble) {
      this.say(sentenceOf(trouble));
    }
    this.busy = false;
  }

  /** Show what the compiler says at its line. */
  private showError(): void {
    const line = Number(this.part(".verdict").dataset.line) || null;
    const said = this.root.querySelector(".judge-error")?.textContent ?? "";
    if (this.editor.showError(line, /error: .*/.exec(said)?.[0] ?? said)) {
      this.editor.reach(line ?? 1);
    }
  }
}

startTop();
const root = document.querySelector<HTMLElement>(".judging");
if (root) new Judging(root);
