// What one reader chose for all pages: kept in a cookie, and told by every page of the server. To ask a
// store of the browser would take ten milliseconds before the first paint.
const COOKIE = "inductorscope_choices";
const LONG = 400 * 24 * 3600; // in seconds; browsers keep none for longer

function told(): URLSearchParams {
  return new URLSearchParams(document.documentElement.dataset.choices);
}

/** Other pages may have chosen since this one came. */
function kept(): URLSearchParams {
  const all = document.cookie.split("; ");
  return new URLSearchParams(all.find((each) => each.startsWith(`${COOKIE}=`))?.split(/=(.*)/)[1]);
}

export function chosen(name: string): string | null {
  return told().get(name);
}

export function choose(name: string, value: string): void {
  const page = told();
  page.set(name, value);
  document.documentElement.dataset.choices = `${page}`;
  try {
    const all = kept();
    all.set(name, value);
    // biome-ignore lint/suspicious/noDocumentCookie: the other way needs HTTPS
    document.cookie = `${COOKIE}=${all}; path=/; max-age=${LONG}; samesite=lax`;
  } catch {
    // Cookies are forbidden here: the choice holds until the page is left.
  }
}
