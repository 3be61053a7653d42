// Forms: `data-ask` holds a question to confirm, `data-least` how many boxes to tick before a
// button works, and Ctrl Enter in a large field sends.

export function startForms(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.ask) return;
    if (!window.confirm(form.dataset.ask)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
  });
  document.addEventListener("change", (event) => {
    const field = event.target;
    const chosen = field instanceof HTMLSelectElement || field instanceof HTMLInputElement;
    if (chosen && field.dataset.sends) field.form?.requestSubmit();
  });
  for (const send of document.querySelectorAll<HTMLButtonElement>("button[data-least]")) {
    const boxes = () => send.form?.querySelectorAll(":checked").length ?? 0;
    const count = () => send.toggleAttribute("disabled", boxes() < Number(send.dataset.least));
    send.form?.addEventListener("change", count);
    count();
  }
}
