// A reader's choices for all pages, such as the theme. They are stored in a cookie, so that the
// server can render each page with them and no page flickers.
const COOKIE = "inductorscope_choices";
const LONG = 400 * 24 * 3600; // in seconds; browsers limit it to this

function ofPage(): URLSearchParams {
  return new URLSearchParams(document.documentElement.dataset.choices);
}

/** Other pages may have changed choices since this one loaded. */
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
    // Without cookies, the choice lasts until the reader leaves the page.
  }
}
