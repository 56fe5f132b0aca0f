// A list that does something with what is chosen, and then shows its first, empty option again.

/** Calls `onChosen` with the value that is chosen: in the open list, or with Enter after keys have changed the closed list. */
export function onChoice(list: HTMLSelectElement, onChosen: (value: string) => void): void {
  // Each arrow key changes the value of a closed list, which is not yet a choice. An open list reports only its choice.
  let isStepping = false;
  const choose = () => {
    const value = list.value;
    isStepping = false;
    list.value = "";
    if (value) onChosen(value);
  };
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && isStepping && list.value) {
      event.preventDefault();
      choose();
      return;
    }
    isStepping = true;
    setTimeout(() => {
      if (CSS.supports("selector(:open)") && list.matches(":open")) isStepping = false;
    });
  });
  list.addEventListener("pointerdown", () => (isStepping = false));
  list.addEventListener("change", () => {
    if (!isStepping) choose();
  });
  list.addEventListener("blur", () => {
    isStepping = false;
    list.value = "";
  });
}
