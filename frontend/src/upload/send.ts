// Sends files in pieces, so that a lost connection or a restarted server costs only one of them.
import type { UploadState } from "../shared/api";
import { ask, mayPass, outOfReach, refusalOf } from "../shared/server";
import type { Picked } from "./collect";

const PIECE = 8 * 1024 * 1024;
const PATIENCE_MS = 120_000;
const LANES = 4;

export interface Watch {
  sent(bytes: number, total: number): void;
  /** The server has been unreachable for this many seconds; 0 when it is back. */
  waiting(seconds: number): void;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Retry until it works: a refusal of the server ends it, a network error is retried. */
async function patiently<Result>(
  work: () => Promise<Result>,
  watch: Watch,
  stopped: AbortSignal,
): Promise<Result> {
  const began = Date.now();
  for (let wait = 300; ; wait = Math.min(wait * 1.7, 5000)) {
    try {
      const result = await work();
      watch.waiting(0);
      return result;
    } catch (trouble) {
      stopped.throwIfAborted();
      const away = Date.now() - began;
      if (!mayPass(trouble) || away > PATIENCE_MS) throw trouble;
      watch.waiting(Math.max(1, Math.round(away / 1000)));
      await pause(wait);
    }
  }
}

class Conflict extends Error {
  constructor(readonly offset: number) {
    super("The server has another part of the file.");
  }
}

/** Send one piece with exact progress (which `fetch` cannot report); resolves with the new
 * offset. */
function sendPiece(
  url: string,
  piece: Blob,
  offset: number,
  progressed: (loaded: number) => void,
  stopped: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PATCH", url);
    request.setRequestHeader("Upload-Offset", String(offset));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.timeout = 60_000;
    request.upload.onprogress = (event) => progressed(event.loaded);
    request.onerror = () => reject(outOfReach());
    request.ontimeout = request.onerror;
    request.onabort = () => reject(stopped.reason);
    request.onload = () => {
      const offsetThere = Number(request.getResponseHeader("Upload-Offset"));
      if (request.status === 409) reject(new Conflict(offsetThere));
      else if (request.status < 300) resolve(offsetThere || offset + piece.size);
      else reject(refusalOf(request.status, request.responseText));
    };
    stopped.addEventListener("abort", () => request.abort(), { once: true });
    request.send(piece);
  });
}

export class Sending {
  private readonly received: number[];
  private readonly flying: number[];
  private readonly total: number;

  constructor(
    private readonly picked: readonly Picked[],
    private readonly watch: Watch,
    private readonly stopped: AbortSignal,
  ) {
    this.received = picked.map(() => 0);
    this.flying = picked.map(() => 0);
    this.total = picked.reduce((sum, each) => sum + each.file.size, 0);
  }

  private tell(): void {
    const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);
    this.watch.sent(sum(this.received) + sum(this.flying), this.total);
  }

  /** Ask how much of a file has arrived, after an error. */
  private async lookAgain(id: string, index: number): Promise<void> {
    const state = await ask<UploadState>(`/api/uploads/${id}`);
    this.received[index] = state.files.find((file) => file.index === index)?.received ?? 0;
  }

  private async sendFile(id: string, index: number): Promise<void> {
    const file = this.picked[index]?.file;
    let unsure = false;
    while (file && (this.received[index] ?? 0) < file.size) {
      await patiently(
        async () => {
          if (unsure) await this.lookAgain(id, index);
          unsure = true;
          const offset = this.received[index] ?? 0;
          if (offset >= file.size) return;
          const piece = file.slice(offset, offset + PIECE);
          const url = `/api/uploads/${id}/files/${index}`;
          const progressed = (loaded: number) => {
            this.flying[index] = Math.min(loaded, piece.size);
            this.tell();
          };
          try {
            this.received[index] = await sendPiece(url, piece, offset, progressed, this.stopped);
            unsure = false;
          } catch (trouble) {
            if (!(trouble instanceof Conflict)) throw trouble;
            this.received[index] = trouble.offset;
            unsure = false;
          } finally {
            this.flying[index] = 0;
            this.tell();
          }
        },
        this.watch,
        this.stopped,
      );
    }
  }

  /** Send everything; resolves with the job that reads it. */
  async run(name: string): Promise<string> {
    const files = this.picked.map(({ path, file }) => ({ path, size: file.size }));
    const begin = () => ask<UploadState>("/api/uploads", { method: "POST", body: { name, files } });
    const begun = await patiently(begin, this.watch, this.stopped);
    const left = files.map((_, index) => index);
    const lane = async () => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) {
        await this.sendFile(begun.id, index);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const finish = () =>
      ask<{ job: string }>(`/api/uploads/${begun.id}/finish`, { method: "POST" });
    return (await patiently(finish, this.watch, this.stopped)).job;
  }
}
