// Light or dark colors: as the system has them, until the button is pressed.

export function toggleTheme(): void {
  const root = document.documentElement;
  root.dataset["theme"] = root.dataset["theme"] === "dark" ? "light" : "dark";
}

document.documentElement.dataset["theme"] ??= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
