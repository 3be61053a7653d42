// What a reader chose for all pages, such as the theme. It is kept in a cookie, so that the server can write
// it into each page and no page flickers.
const COOKIE = "inductorscope_choices";
const LONG = 400 * 24 * 3600; // in seconds; browsers keep none for longer

function ofPage(): URLSearchParams {
  return new URLSearchParams(document.documentElement.dataset.choices);
}

/** Other pages may have chosen since this one came. */
function kept(): URLSearchParams {
  const all = document.cookie.split("; ");
  return new URLSearchParams(all.find((each) => each.startsWith(`${COOKIE}=`))?.split(/=(.*)/)[1]);
}

export function chosen(name: string): string | null {
  return ofPage().get(name);
}

export function choose(name: string, value: string): void {
  const page = ofPage();
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
