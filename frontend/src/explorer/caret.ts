/** Code views ask for the document's selection at every change as long as there is none, and each
 * time that costs a layout of the page. A caret in the heading, which nobody sees, is enough. It costs
 * a layout itself. */
export function selectSomething(): void {
  const heading = document.querySelector("#explorer h1");
  if (heading && !document.getSelection()?.focusNode) document.getSelection()?.collapse(heading, 0);
}
