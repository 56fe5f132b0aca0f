// The summary of a run, with its differences from the pinned run.
import { plain } from "../charts/picture";
import type { Row } from "./api";
import { h } from "./dom";

export function showSummary(root: HTMLElement, rows: Row[], isCompared: boolean): void {
  const groups = new Map<string, Row[]>();
  rows.forEach((row) => groups.set(row.of, [...(groups.get(row.of) ?? []), row]));
  const head = h(
    "thead",
    {},
    h("tr", {}, ...(isCompared ? ["", "pinned", "this run", "difference"] : ["", "this run"]).map((text) => h("th", { scope: "col" }, text))),
  );
  const bodies = [...groups].map(([of, found]) =>
    h(
      "tbody",
      {},
      h("tr", { class: "of" }, h("th", { scope: "rowgroup", colspan: isCompared ? 4 : 2 }, of)),
      ...found.map((row) => line(row, isCompared)),
    ),
  );
  root.replaceChildren(h("table", { class: "summary" }, head, ...bodies));
}

function line(row: Row, isCompared: boolean): HTMLElement {
  const scale = row.quantity === "loss rate" || row.quantity === "utilization" ? 100 : 1;
  const unit = scale === 100 ? "%" : row.unit;
  // No break within a value or an interval, only between them.
  const text = (value: number) => `${plain(value * scale)}${unit ? `\u00a0${unit}` : ""}`;
  const cells = [h("td", {}, text(row.second))];
  if (isCompared) {
    const interval = row.lo === null || row.hi === null ? "" : ` [${plain(row.lo * scale)},\u00a0${plain(row.hi * scale)}]`;
    const isClear = row.lo !== null && row.hi !== null && (row.lo > 0 || row.hi < 0);
    const sign = row.difference > 0 ? "+" : "";
    cells.unshift(h("td", {}, text(row.first)));
    cells.push(h("td", { class: isClear ? "clear" : "" }, `${sign}${plain(row.difference * scale)}${interval}`));
  }
  return h("tr", {}, h("th", { scope: "row" }, row.quantity), ...cells);
}
