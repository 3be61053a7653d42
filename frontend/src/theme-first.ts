// Runs before the page is painted, so that the chosen theme shows from the first frame.
try {
  const theme = localStorage.getItem("inductorscope.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden here: the system's theme holds.
}
