// Forms: `data-ask` holds a question to confirm, `data-least` how many boxes to tick before its main
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
    if (!(field instanceof HTMLSelectElement) || !field.dataset.sends) return;
    field.form?.requestSubmit();
  });
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-least]")) {
    const send = form.querySelector<HTMLButtonElement>("button.main");
    const count = () => {
      if (send)
        send.disabled = form.querySelectorAll(":checked").length < Number(form.dataset.least);
    };
    form.addEventListener("change", count);
    count();
  }
}
