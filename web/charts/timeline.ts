// Stacked panels over a common time axis: one cursor, zoom by dragging or the wheel, pan by Shift and dragging or the keys.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Curve, type Panel, type Picture, plain } from "./picture";
import { IMAGE_KINDS, type ImageKind, saveImage } from "./save";
import { type Sheet, toSvg } from "./svg";

export interface TimelineOptions {
  /** Called with the visible window, s, a moment after it has changed. */
  onWindow?: (from: number, to: number) => void;
  /** Name of what is drawn, for the names of image files. */
  name?: () => string;
  /** Height of a panel, CSS pixels. */
  height?: number;
}

/** What a panel's canvas showed before the window began to move. */
interface Still {
  image: HTMLCanvasElement;
  x: [number, number];
  y: [number, number];
}

interface Drawn {
  name: string;
  plot: uPlot;
  root: HTMLElement;
  readout: HTMLElement;
  label: string;
  curves: Curve[];
  top: number | undefined;
  shape: string;
  still: Still | null;
}

/** Pictures with more points move as images until the window rests: drawing them takes longer than a frame. */
const MOVING_POINTS = 30_000;
const linear = uPlot.paths.linear!();
const MIN_WIDTH = 240;
const SETTLE_MS = 120;
const ZOOM_STEP = 0.8;
const PAN_STEP = 0.2;

export class Timeline {
  private drawn: Drawn[] = [];
  private window: [number, number] | null = null;
  private full: [number, number] = [0, 1];
  private warmup = 0;
  private hidden = new Set<string>();
  private timer = 0;
  private readonly sync = uPlot.sync(`t${Math.random()}`);
  private readonly legend = document.createElement("div");
  private pictures: Picture[] = [];

  constructor(
    private readonly root: HTMLElement,
    private readonly options: TimelineOptions = {},
  ) {
    this.legend.className = "legend";
    root.append(this.legend);
    new ResizeObserver(() => this.resize()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    new MutationObserver(() => this.redraw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  /** The visible window, s; null if all is visible. */
  get visible(): [number, number] | null {
    return this.window;
  }

  /** Width of a panel, CSS pixels: more points would fall on the same pixels. */
  get width(): number {
    return Math.max(this.root.clientWidth, MIN_WIDTH);
  }

  /** Draws the pictures over each other; the first sets the length of the time axis. */
  show(pictures: Picture[]): void {
    this.rest();
    this.pictures = pictures;
    const first = pictures[0];
    if (!first) return;
    const end = Math.max(...pictures.map((picture) => picture.duration_s));
    if (end !== this.full[1]) this.window = null;
    this.full = [0, end];
    this.warmup = first.warmup_s;
    const names = first.panels.map((panel) => panel.name);
    if (names.join() !== this.drawn.map((one) => one.name).join()) this.clear();
    names.forEach((name, row) => this.showPanel(row, name, pictures, row === names.length - 1));
    this.showLegend();
  }

  /** Shows the whole run. */
  reset(): void {
    this.setWindow(null);
  }

  /** Saves the visible part as an image: the panel of this name, or all panels. */
  async save(kind: ImageKind, name?: string): Promise<void> {
    const shown = this.drawn.filter((one) => name === undefined || one.name === name);
    const [from, to] = this.window ?? this.full;
    const part = this.window ? [`${plain(from)}s`, `${plain(to)}s`] : [];
    const title = this.options.name?.() ?? document.title;
    const view = { from, to, warmup: this.warmup, color: (color: string) => this.css(color) };
    const svg = toSvg(title, shown.map((one) => this.sheet(one)), view);
    await saveImage(svg, [title, name ?? "course", ...part], kind);
  }

  /** Returns what a panel shows: the curves that are not hidden. */
  private sheet(one: Drawn): Sheet {
    const data = [one.plot.data[0]] as Sheet["data"];
    const curves = one.curves.filter((curve) => !this.hidden.has(curve.label));
    let column = 1;
    for (const curve of one.curves) {
      const count = curve.low ? 3 : 1;
      if (curves.includes(curve)) data.push(...(one.plot.data.slice(column, column + count) as Sheet["data"]));
      column += count;
    }
    const { min, max } = one.plot.scales["y"]!;
    return { label: one.label, curves, data, low: min ?? 0, high: max ?? 1 };
  }

  private clear(): void {
    this.drawn.forEach((one) => {
      this.sync.unsub(one.plot);
      one.plot.destroy();
      one.root.remove();
    });
    this.drawn = [];
  }

  private redraw(): void {
    const pictures = this.pictures;
    this.clear();
    this.show(pictures);
  }

  private showPanel(row: number, name: string, pictures: Picture[], isLast: boolean): void {
    const panels = pictures.map((picture) => picture.panels.find((panel) => panel.name === name));
    const label = panels[0]?.label ?? name;
    const curves = panels.flatMap((panel, i) => (panel ? labelled(panel, i, pictures) : []));
    const top = panels[0]?.top;
    const tables: uPlot.AlignedData[] = [];
    panels.forEach((panel, i) => {
      if (!panel) return;
      const x = pictures[i]!.t_s;
      const columns = panel.curves.flatMap((curve) =>
        curve.low && curve.high ? [curve.low, curve.high, curve.values] : [curve.values],
      );
      tables.push([x, ...columns] as unknown as uPlot.AlignedData);
    });
    const data = tables.length === 1 ? plainArrays(tables[0]!) : uPlot.join(tables.map(plainArrays));
    const shape = JSON.stringify([label, isLast, curves.map((c) => [c.label, c.color, c.dash, !!c.low])]);
    const known = this.drawn[row];
    if (known && known.shape === shape) {
      known.curves = curves;
      known.top = top;
      known.plot.setData(data, false);
      const [min, max] = this.window ?? this.full;
      known.plot.setScale("x", { min, max });
      return;
    }
    if (known) {
      this.sync.unsub(known.plot);
      known.plot.destroy();
    }
    const root = known?.root ?? document.createElement("div");
    root.className = "panel";
    root.replaceChildren();
    const heading = document.createElement("h3");
    heading.textContent = label;
    const readout = document.createElement("span");
    readout.className = "readout";
    const head = document.createElement("div");
    head.className = "head";
    head.append(heading, readout, ...IMAGE_KINDS.map((kind) => this.saveButton(kind, name, label)));
    const at = document.createElement("div");
    at.tabIndex = 0;
    at.setAttribute("role", "img");
    at.setAttribute("aria-label", `${label} over time. Keys: arrows pan, plus and minus zoom, 0 shows all.`);
    at.addEventListener("keydown", (event) => this.onKey(event));
    root.append(head, at);
    if (!known) this.root.append(root);
    const drawn: Drawn = { name, root, readout, label, curves, top, shape, still: null, plot: null as unknown as uPlot };
    drawn.plot = new uPlot(this.plotOptions(curves, isLast, drawn), data, at);
    this.sync.sub(drawn.plot);
    this.drawn[row] = drawn;
    this.applyHidden(drawn);
  }

  private saveButton(kind: ImageKind, name: string, label: string): HTMLButtonElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = kind.toUpperCase();
    button.setAttribute("aria-label", `Save as ${kind.toUpperCase()}: ${label}`);
    button.addEventListener("click", () => void this.save(kind, name));
    return button;
  }

  private plotOptions(curves: Curve[], isLast: boolean, drawn: Drawn): uPlot.Options {
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    const paths: uPlot.Series.PathBuilder = (...at) => (drawn.still ? null : linear(...at));
    const gaps = { spanGaps: false, points: { show: false }, paths };
    for (const curve of curves) {
      if (curve.low) {
        const low = series.length;
        series.push({ ...gaps, stroke: "transparent", label: curve.label });
        series.push({ ...gaps, stroke: "transparent", label: curve.label });
        bands.push({ series: [low + 1, low], fill: `${curve.color}33` });
      }
      series.push({ ...gaps, label: curve.label, stroke: curve.color, width: 1.5, dash: curve.dash });
    }
    const axis: uPlot.Axis = {
      stroke: () => this.css("--soft"),
      grid: { stroke: () => this.css("--grid"), width: 1 },
      ticks: { stroke: () => this.css("--grid"), width: 1, size: 4 },
      font: "11px system-ui, sans-serif",
    };
    const [min, max] = this.window ?? this.full;
    return {
      ...this.size(isLast),
      padding: [6, 14, 0, 0],
      scales: {
        x: { time: false, min, max },
        y: { range: (_plot, low, high) => (drawn.top === undefined ? range(low, high) : [0, drawn.top]) },
      },
      series,
      bands,
      axes: [
        isLast
          ? { ...axis, size: 28, label: "time (s)", labelSize: 16, labelFont: "11px system-ui, sans-serif", labelGap: 0 }
          : { ...axis, size: 4, values: (_plot, ticks) => ticks.map(() => "") },
        { ...axis, size: 54, values: (_plot, ticks) => ticks.map((tick) => plain(tick)) },
      ],
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: this.sync.key, setSeries: false }, points: { size: 5 } },
      hooks: {
        drawClear: [(plot) => this.shadeWarmup(plot)],
        draw: [(plot) => moveStill(plot, drawn.still)],
        setSelect: [(plot) => this.onSelect(plot)],
        setCursor: [(plot) => this.onCursor(plot, drawn)],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  private size(isLast: boolean): { width: number; height: number } {
    return { width: this.width, height: (this.options.height ?? 130) + (isLast ? 30 : 0) };
  }

  private resize(): void {
    this.drawn.forEach((one, row) => one.plot.setSize(this.size(row === this.drawn.length - 1)));
  }

  private css(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
  }

  private shadeWarmup(plot: uPlot): void {
    if (this.warmup <= 0) return;
    const to = Math.min(plot.valToPos(this.warmup, "x", true), plot.bbox.left + plot.bbox.width);
    if (to <= plot.bbox.left) return;
    plot.ctx.fillStyle = this.css("--warmup");
    plot.ctx.fillRect(plot.bbox.left, plot.bbox.top, to - plot.bbox.left, plot.bbox.height);
  }

  private onSelect(plot: uPlot): void {
    const { left, width } = plot.select;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (width > 4) this.setWindow([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  }

  private onCursor(plot: uPlot, drawn: Drawn): void {
    const index = plot.cursor.idx;
    if (index === null || index === undefined) {
      drawn.readout.textContent = "";
      return;
    }
    const t = plot.data[0]![index]!;
    const parts: string[] = [];
    let column = 0;
    for (const curve of drawn.curves) {
      column += curve.low ? 3 : 1;
      if (this.hidden.has(curve.label)) continue;
      const value = plot.data[column]?.[index];
      if (value !== null && value !== undefined && !Number.isNaN(value)) parts.push(`${curve.label} ${plain(value)}`);
    }
    const shown = parts.slice(0, 8).join(", ") + (parts.length > 8 ? ", …" : "");
    drawn.readout.textContent = `${plain(t)} s: ${shown}`;
  }

  private listen(plot: uPlot): void {
    const over = plot.over;
    over.addEventListener("dblclick", () => this.setWindow(null));
    over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = plot.posToVal(event.offsetX, "x");
        this.zoom(event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP, at);
      },
      { passive: false },
    );
    over.addEventListener(
      "mousedown",
      (event) => {
        if (!event.shiftKey) return;
        event.stopImmediatePropagation();
        const start = event.clientX;
        const [from, to] = this.window ?? this.full;
        const perPixel = (to - from) / over.clientWidth;
        const move = (moved: MouseEvent) => this.setWindow([from - (moved.clientX - start) * perPixel, to - (moved.clientX - start) * perPixel]);
        const stop = () => removeEventListener("mousemove", move);
        addEventListener("mousemove", move);
        addEventListener("mouseup", stop, { once: true });
      },
      { capture: true },
    );
  }

  private onKey(event: KeyboardEvent): void {
    const [from, to] = this.window ?? this.full;
    const step = (to - from) * PAN_STEP;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.setWindow([from - step, to - step]),
      ArrowRight: () => this.setWindow([from + step, to + step]),
      "+": () => this.zoom(ZOOM_STEP, (from + to) / 2),
      "=": () => this.zoom(ZOOM_STEP, (from + to) / 2),
      "-": () => this.zoom(1 / ZOOM_STEP, (from + to) / 2),
      "0": () => this.setWindow(null),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private zoom(factor: number, at: number): void {
    const [from, to] = this.window ?? this.full;
    this.setWindow([at - (at - from) * factor, at + (to - at) * factor]);
  }

  private setWindow(window: [number, number] | null): void {
    const [first, last] = this.full;
    if (window) {
      const width = Math.min(Math.max(window[1] - window[0], (last - first) * 1e-6), last - first);
      const from = Math.min(Math.max(window[0], first), last - width);
      window = width >= last - first ? null : [from, from + width];
    }
    if (this.points > MOVING_POINTS) this.drawn.forEach((one) => (one.still ??= stillOf(one.plot)));
    this.window = window;
    const [min, max] = window ?? this.full;
    this.drawn.forEach((one) => one.plot.setScale("x", { min, max }));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.rest();
      this.options.onWindow?.(min, max);
    }, SETTLE_MS) as unknown as number;
  }

  /** Draws the curves again after the window has moved. */
  private rest(): void {
    this.drawn.forEach((one) => {
      if (!one.still) return;
      one.still = null;
      one.plot.redraw();
    });
  }

  private get points(): number {
    return this.drawn.reduce((sum, one) => sum + one.plot.data.length * one.plot.data[0]!.length, 0);
  }

  private showLegend(): void {
    const labels = new Map<string, Curve>();
    this.drawn.forEach((one) => one.curves.forEach((curve) => labels.set(curve.label, curve)));
    if (labels.size < 2) {
      this.legend.replaceChildren();
      return;
    }
    const key = [...labels].map(([label, curve]) => label + curve.color + curve.dash).join();
    if (this.legend.dataset["key"] === key) return;
    this.legend.dataset["key"] = key;
    this.legend.replaceChildren(
      ...[...labels].map(([label, curve]) => {
        const button = document.createElement("button");
        button.type = "button";
        const mark = document.createElement("i");
        mark.style.borderTop = `3px ${curve.dash.length ? "dashed" : "solid"} ${curve.color}`;
        button.append(mark, label);
        button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
        button.addEventListener("click", () => {
          if (!this.hidden.delete(label)) this.hidden.add(label);
          button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
          this.drawn.forEach((one) => this.applyHidden(one));
        });
        return button;
      }),
    );
  }

  private applyHidden(drawn: Drawn): void {
    let column = 1;
    for (const curve of drawn.curves) {
      const count = curve.low ? 3 : 1;
      for (let i = 0; i < count; i += 1, column += 1) {
        const show = !this.hidden.has(curve.label);
        if (drawn.plot.series[column]?.show !== show) drawn.plot.setSeries(column, { show });
      }
    }
  }
}

function stillOf(plot: uPlot): Still {
  const { left, top, width, height } = plot.bbox;
  const image = document.createElement("canvas");
  image.width = width;
  image.height = height;
  image.getContext("2d")!.drawImage(plot.ctx.canvas, left, top, width, height, 0, 0, width, height);
  const { x, y } = plot.scales;
  return { image, x: [x!.min!, x!.max!], y: [y!.min!, y!.max!] };
}

/** Draws an image of the curves, grid and shade where its axes have come to be. */
function moveStill(plot: uPlot, still: Still | null): void {
  if (!still) return;
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const [x, right] = still.x.map((t) => plot.valToPos(t, "x", true)) as [number, number];
  const [bottom, y] = still.y.map((value) => plot.valToPos(value, "y", true)) as [number, number];
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.clearRect(left, top, width, height);
  ctx.drawImage(still.image, x, y, right - x, bottom - y);
  ctx.restore();
}

function labelled(panel: Panel, i: number, pictures: Picture[]): Curve[] {
  if (pictures.length === 1) return panel.curves;
  return panel.curves.map((curve) => ({
    ...curve,
    label: `${curve.label} · ${pictures[i]!.label}`,
    dash: i === 0 ? curve.dash : [6, 3 + i],
  }));
}

/** Returns arrays in which missing values are gaps (null); uPlot bridges the times at which only another run has values. */
function plainArrays(table: uPlot.AlignedData): uPlot.AlignedData {
  const [x, ...rest] = table as unknown as Float32Array[];
  const columns = rest.map((column) => Array.from(column, (v) => (Number.isNaN(v) ? null : v)));
  return [Array.from(x!), ...columns] as unknown as uPlot.AlignedData;
}

function range(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(high)) return [0, 1];
  const from = Math.min(0, low);
  return high > from ? [from, high + (high - from) * 0.05] : [from, from + 1];
}
