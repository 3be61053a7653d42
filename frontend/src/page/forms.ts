// Forms that ask for confirmation: `data-ask` holds the question.

export function startForms(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.ask) return;
    if (!window.confirm(form.dataset.ask)) event.preventDefault();
  });
  // Options that only some choices need.
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLSelectElement) || !field.dataset.sends) return;
    field.form?.requestSubmit();
  });
}
