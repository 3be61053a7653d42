// Requests to the server. Its errors are sentences, and are passed on as such.

export class Refusal extends Error {
  readonly status: number;
  readonly advice: string | null;

  constructor(status: number, what: string, advice: string | null = null) {
    super(what);
    this.status = status;
    this.advice = advice;
  }
}

/** The sentence in an error's JSON, or one made from its status. */
export function refusalOf(status: number, body: string): Refusal {
  try {
    const { error } = JSON.parse(body) as { error?: { what?: string; do?: string } };
    if (error?.what) return new Refusal(status, error.what, error.do ?? null);
  } catch {
    // Not the server's own response (a proxy's page, for example), so use the status.
  }
  if (status === 401 || status === 403) {
    return new Refusal(status, "The server asks for its token.", "Log in, then try again.");
  }
  return new Refusal(status, `The server answered with status ${status}.`);
}

export function sentenceOf(trouble: unknown): string {
  if (trouble instanceof Refusal) {
    return trouble.advice ? `${trouble.message} ${trouble.advice}` : trouble.message;
  }
  if (trouble instanceof TypeError) return "The server cannot be reached.";
  return trouble instanceof Error ? trouble.message : String(trouble);
}

export async function ask<Answer>(
  url: string,
  options: { method?: string; body?: unknown } = {},
): Promise<Answer> {
  const init: RequestInit = {
    method: options.method ?? "GET",
    headers: { accept: "application/json" },
  };
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body);
    init.headers = { accept: "application/json", "content-type": "application/json" };
  }
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw refusalOf(response.status, text);
  return (text ? JSON.parse(text) : null) as Answer;
}

export async function askText(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw refusalOf(response.status, text);
  return text;
}
