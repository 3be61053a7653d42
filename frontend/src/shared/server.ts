// Requests to the server, which only this module sends. What fails has a sentence: what is so, and
// what to do.

const RELOAD = "Reload the page; if that does not help, see the server's log.";

export class Refusal extends Error {
  /** `status`: of HTTP; 0 if no server answered. */
  constructor(
    readonly status: number,
    what: string,
    readonly advice: string | null = null,
    cause?: unknown,
  ) {
    super(what, { cause });
  }
}

export function outOfReach(cause?: unknown): Refusal {
  return new Refusal(
    0,
    "The server cannot be reached.",
    "Check that it runs, then try again.",
    cause,
  );
}

/** The sentence in an error's JSON, or one made from its status. */
export function refusalOf(status: number, body: string): Refusal {
  if (status === 401) {
    return new Refusal(401, "You are not logged in.", "Log in at /login, then reload this page.");
  }
  try {
    const { error } = JSON.parse(body) as { error?: { what?: string; do?: string } };
    if (error?.what) return new Refusal(status, error.what, error.do ?? null);
  } catch {
    // Not the server's own response (a proxy's page, for example), so use the status.
  }
  return new Refusal(status, `The server answered with status ${status}.`, RELOAD);
}

/** Whether the same request may work later, from the same page. */
export function mayPass(trouble: unknown): boolean {
  const status = trouble instanceof Refusal ? trouble.status : null;
  return status !== null && (status === 0 || status === 429 || status >= 500);
}

/** The sentence for what failed; the console gets all of it. */
export function sentenceOf(trouble: unknown): string {
  console.error(trouble);
  if (trouble instanceof Refusal) {
    return trouble.advice ? `${trouble.message} ${trouble.advice}` : trouble.message;
  }
  if (trouble instanceof TypeError || trouble instanceof ReferenceError) {
    return `This page made a mistake (${trouble.message}). Reload it: the server may have a newer version. If that does not help, please report what the browser's console says.`;
  }
  return trouble instanceof Error ? trouble.message : String(trouble);
}

async function fetched(url: string, init: RequestInit): Promise<string> {
  const failed = (cause: unknown): never => {
    throw outOfReach(cause);
  };
  const response = await fetch(url, init).catch(failed);
  const text = await response.text().catch(failed);
  // Whoever is not logged in is sent from a page to the one for that.
  const isLogin = response.redirected && new URL(response.url).pathname === "/login";
  if (isLogin || !response.ok) throw refusalOf(isLogin ? 401 : response.status, text);
  return text;
}

export async function ask<Answer>(
  url: string,
  options: { method?: string; body?: unknown } = {},
): Promise<Answer> {
  const { method = "GET", body } = options;
  const type = body === undefined ? null : { "content-type": "application/json" };
  const headers = { accept: "application/json", ...type };
  const text = await fetched(url, { method, headers, body: JSON.stringify(body) });
  try {
    return (text ? JSON.parse(text) : null) as Answer;
  } catch (cause) {
    throw new Refusal(200, "The server's answer cannot be read.", RELOAD, cause);
  }
}

/** A text, or part of a page as HTML. */
export function askText(url: string, headers: Record<string, string> = {}): Promise<string> {
  return fetched(url, { headers });
}

/** A part of the program that is fetched when it is needed. */
export async function loaded<Module>(module: Promise<Module>): Promise<Module> {
  return module.catch((cause) => {
    const what = "A part of this page cannot be loaded.";
    const why = "The server has a newer version, or cannot be reached: reload the page.";
    throw new Refusal(404, what, why, cause);
  });
}
