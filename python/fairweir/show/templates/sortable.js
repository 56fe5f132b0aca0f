"use strict";
// Tables with `data-sortable`: a button in each heading sorts the rows by the column's `data-key`, empty keys last.
document.querySelectorAll("table[data-sortable]").forEach((table) => {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const compare = (a, b) => (Number.isNaN(Number(a)) || Number.isNaN(Number(b)) ? a.localeCompare(b) : a - b);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isAscending = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", isAscending ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.key;
      const order = (a, b) => (key(a) === "") - (key(b) === "") || (isAscending ? 1 : -1) * compare(key(a), key(b));
      body.append(...[...body.rows].sort(order));
    });
  });
});
