// What the server says about a run's course (fairweir/show/picture.py).

/** A curve. NaN: no value at that time. */
export interface Curve {
  label: string;
  color: string;
  dash: number[];
  values: Float32Array;
  /** Over several seeds: the range, where `values` is the median. */
  low?: Float32Array;
  high?: Float32Array;
}

/** A quantity over time. */
export interface Panel {
  name: string;
  label: string;
  curves: Curve[];
  /** End of the value axis, which begins at 0, if it does not depend on the curves alone. */
  top?: number;
}

/** A run's course; all curves have the times `t_s`. */
export interface Picture {
  label: string;
  t_s: Float32Array;
  warmup_s: number;
  duration_s: number;
  panels: Panel[];
}

/** Returns a number with at most four significant digits. */
export function plain(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const digits = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
  return digits.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",").replace("-", "−");
}
