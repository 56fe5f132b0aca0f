// Panels of curves over time as an SVG image: axes, curves and names of the curves, from the numbers that the page draws.
import type { Curve } from "./picture";
import { plain } from "./picture";

/** A panel: the numbers of a table that has the times first and then one column per curve, or three for a curve with a range. */
export interface Sheet {
  label: string;
  curves: Curve[];
  data: ArrayLike<number | null | undefined>[];
  /** Visible range of the quantity. */
  low: number;
  high: number;
}

export interface View {
  from: number;
  to: number;
  warmup: number;
  color: (name: string) => string;
}

const WIDTH = 900;
const LEFT = 64;
const RIGHT = 16;
const HEAD = 26;
const PLOT = 170;
const FOOT = 24;
const AXIS = 40;
const FONT = "system-ui, 'Liberation Sans', sans-serif";
const CHARACTER = 7;
const LEGEND_ROW = 18;

/** Returns the panels, from top to bottom, as the text of an SVG image. */
export function toSvg(title: string, sheets: Sheet[], view: View): string {
  const legend = legendOf(sheets, view);
  let y = legend.height;
  const parts = sheets.map((sheet, i) => {
    const isLast = i === sheets.length - 1;
    const part = panel(sheet, view, y, isLast, i);
    y += HEAD + PLOT + (isLast ? AXIS : FOOT);
    return part;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" font-family="${FONT}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${y}" fill="${view.color("--paper")}"/>`,
    legend.text,
    ...parts,
    "</svg>",
  ].join("\n");
}

function panel(sheet: Sheet, view: View, top: number, isLast: boolean, number: number): string {
  const [right, y0, y1] = [WIDTH - RIGHT, top + HEAD, top + HEAD + PLOT];
  const x = (t: number) => LEFT + ((t - view.from) / (view.to - view.from)) * (right - LEFT);
  const y = (value: number) => y1 - ((value - sheet.low) / (sheet.high - sheet.low)) * PLOT;
  const [ink, soft, grid] = [view.color("--ink"), view.color("--soft"), view.color("--grid")];
  const text = (at: number, down: number, anchor: string, words: string) =>
    `<text x="${at.toFixed(1)}" y="${down.toFixed(1)}" text-anchor="${anchor}" font-size="11" fill="${soft}">${escaped(words)}</text>`;
  const line = (xa: number, ya: number, xb: number, yb: number) =>
    `<path d="M${xa.toFixed(1)},${ya.toFixed(1)}L${xb.toFixed(1)},${yb.toFixed(1)}" stroke="${grid}"/>`;
  const warm = Math.min(x(view.warmup), right);
  const parts = [
    `<text x="${LEFT}" y="${top + 17}" font-size="13" font-weight="600" fill="${ink}">${escaped(sheet.label)}</text>`,
    `<clipPath id="c${number}"><rect x="${LEFT}" y="${y0}" width="${right - LEFT}" height="${PLOT}"/></clipPath>`,
    warm > LEFT ? `<rect x="${LEFT}" y="${y0}" width="${(warm - LEFT).toFixed(1)}" height="${PLOT}" fill="${view.color("--warmup")}"/>` : "",
    ...ticks(sheet.low, sheet.high, 5).map((value) => line(LEFT, y(value), right, y(value)) + text(LEFT - 6, y(value) + 4, "end", plain(value))),
    ...ticks(view.from, view.to, 9).map((t) => line(x(t), y0, x(t), y1) + text(x(t), y1 + 15, "middle", plain(t))),
    isLast ? text((LEFT + right) / 2, y1 + 32, "middle", "time (s)") : "",
    `<g clip-path="url(#c${number})" fill="none" stroke-width="1.5" stroke-linejoin="round">`,
    ...curves(sheet, view, x, y),
    "</g>",
  ];
  return parts.filter(Boolean).join("\n");
}

function curves(sheet: Sheet, view: View, x: (t: number) => number, y: (value: number) => number): string[] {
  const times = sheet.data[0]!;
  const [first, last] = visible(times, view);
  const found: string[] = [];
  let column = 1;
  for (const curve of sheet.curves) {
    if (curve.low) {
      const [low, high] = [sheet.data[column]!, sheet.data[column + 1]!];
      const [above, below] = [high, low].map((values) => points(times, values, first, last, x, y)) as [string[][], string[][]];
      const d = above.map((run, i) => `M${[...run, ...below[i]!.toReversed()].join("L")}Z`).join("");
      if (d) found.push(`<path d="${d}" fill="${curve.color}" fill-opacity="0.2"/>`);
      column += 2;
    }
    const d = points(times, sheet.data[column]!, first, last, x, y).map((run) => `M${run.join("L")}${run.length === 1 ? "h0" : ""}`).join("");
    const dash = curve.dash.length ? ` stroke-dasharray="${curve.dash.join(" ")}"` : "";
    if (d) found.push(`<path d="${d}" stroke="${curve.color}"${dash}><title>${escaped(curve.label)}</title></path>`);
    column += 1;
  }
  return found;
}

/** Returns the runs of points without a gap. A time at which only another curve has a value (undefined) is no gap. */
function points(
  times: ArrayLike<number | null | undefined>,
  values: ArrayLike<number | null | undefined>,
  first: number,
  last: number,
  x: (t: number) => number,
  y: (value: number) => number,
): string[][] {
  const runs: string[][] = [];
  let isOpen = false;
  for (let i = first; i < last; i += 1) {
    const value = values[i];
    if (value === undefined) continue;
    if (value === null) isOpen = false;
    else {
      if (!isOpen) runs.push([]);
      isOpen = true;
      runs.at(-1)!.push(`${x(times[i]!).toFixed(1)},${y(value).toFixed(1)}`);
    }
  }
  return runs;
}

/** Returns the range of rows that are visible, with one more on each side, so that lines reach the edges. */
function visible(times: ArrayLike<number | null | undefined>, view: View): [number, number] {
  let [first, last] = [0, times.length];
  while (first + 1 < last && times[first + 1]! < view.from) first += 1;
  while (last - 2 > first && times[last - 2]! > view.to) last -= 1;
  return [first, last];
}

function ticks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / most;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((one) => one >= rough) ?? 10 * decade;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function legendOf(sheets: Sheet[], view: View): { text: string; height: number } {
  const named = new Map(sheets.flatMap((sheet) => sheet.curves.map((curve) => [curve.label, curve] as const)));
  if (named.size < 2) return { text: "", height: 0 };
  let [x, row] = [LEFT, 0];
  const parts = [...named.values()].map((curve) => {
    const width = 36 + curve.label.length * CHARACTER;
    if (x > LEFT && x + width > WIDTH - RIGHT) [x, row] = [LEFT, row + 1];
    const y = 14 + row * LEGEND_ROW;
    const dash = curve.dash.length ? ` stroke-dasharray="${curve.dash.join(" ")}"` : "";
    const part =
      `<path d="M${x},${y - 4}h20" stroke="${curve.color}" stroke-width="2.5"${dash}/>` +
      `<text x="${x + 25}" y="${y}" font-size="12" fill="${view.color("--ink")}">${escaped(curve.label)}</text>`;
    x += width;
    return part;
  });
  return { text: parts.join("\n"), height: 8 + (row + 1) * LEGEND_ROW };
}

function escaped(text: string): string {
  // XML has no other control characters than tab and line ends.
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
    .replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
}
