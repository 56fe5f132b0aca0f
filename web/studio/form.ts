// The scenario as a form. Every field and slider calls `onSet` with the key and the new value.
import type { Field, Group, Problem } from "./api";
import { h } from "./dom";

export type Setter = (key: string, value: unknown, isFinal: boolean) => void;

const STEPS = 200;

export class Form {
  private shape = "";
  private inputs = new Map<string, { field: Field; input: HTMLInputElement | HTMLSelectElement; slider: HTMLInputElement | null; error: HTMLElement }>();
  private open = new Set<string>();
  private emphasized: string | null = null;
  private mustScroll = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly onSet: Setter,
    private readonly ccas: () => string[],
  ) {}

  show(groups: Group[]): void {
    const shape = JSON.stringify(groups.map((group) => group.fields.map((field) => [field.key, field.kind, !!field.slider, field.choices])));
    if (shape !== this.shape) this.build(groups, shape);
    groups.forEach((group, i) => {
      const title = this.root.querySelectorAll(":scope > details > summary")[i];
      if (title) title.textContent = group.title;
      group.fields.forEach((field) => this.update(field));
    });
  }

  /** Marks the field of a lesson's slider. */
  emphasize(key: string | null): void {
    this.emphasized = key;
    this.mustScroll = key !== null;
    this.shape = "";
  }

  /** Marks the fields with errors, and returns the errors of no field. */
  showProblems(problems: Problem[]): Problem[] {
    for (const { input, error } of this.inputs.values()) {
      input.removeAttribute("aria-invalid");
      error.textContent = "";
    }
    return problems.filter((one) => {
      const key = one.key ?? "";
      const at = this.inputs.get(key) ?? [...this.inputs.entries()].find(([name]) => key.startsWith(`${name}.`))?.[1];
      if (!at) return true;
      at.input.setAttribute("aria-invalid", "true");
      at.error.textContent = one.hint ? `${one.message}; ${one.hint}` : one.message;
      return false;
    });
  }

  private build(groups: Group[], shape: string): void {
    const focused = (document.activeElement as HTMLElement | null)?.id ?? "";
    this.shape = shape;
    this.inputs.clear();
    this.root.replaceChildren(
      ...groups.map((group, i) => {
        const main = group.fields.filter((field) => !isParameter(field));
        const more = group.fields.filter(isParameter);
        const details = h("details", { class: "group" }, h("summary", {}, group.title), ...main.map((field) => this.row(field)));
        details.open = groups.length <= 6 || i < 3;
        if (more.length) {
          const inner = h("details", { class: "more" }, h("summary", {}, "parameters of the cca"), ...more.map((field) => this.row(field)));
          const name = `${i}`;
          inner.open = this.open.has(name);
          inner.addEventListener("toggle", () => (inner.open ? this.open.add(name) : this.open.delete(name)));
          details.append(inner);
        }
        return details;
      }),
    );
    groups.forEach((group) => group.fields.forEach((field) => this.update(field)));
    if (this.mustScroll) this.scrollToEmphasized();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  /** Scrolls the marked field to the middle of the form's own box; the page stays where it is. */
  private scrollToEmphasized(): void {
    const [marked, box] = [this.root.querySelector(".emphasized"), this.root.parentElement];
    if (!marked || !box) return;
    box.scrollTop += marked.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
    this.mustScroll = false;
  }

  private row(field: Field): HTMLElement {
    const id = `field-${field.key}`;
    const error = h("small", { class: "error", id: `${id}-error`, role: "alert" });
    const input = this.input(field, id);
    input.setAttribute("aria-describedby", `${id}-error`);
    const slider = field.slider
      ? h("input", { type: "range", min: 0, max: STEPS, step: 1, id: `${id}-slider`, "aria-label": `${field.label}, ${field.key}` })
      : null;
    slider?.addEventListener("input", () => this.slide(field.key, false));
    slider?.addEventListener("change", () => this.slide(field.key, true));
    this.inputs.set(field.key, { field, input, slider, error });
    return h("div", { class: field.key === this.emphasized ? "field emphasized" : "field" }, h("label", { for: id }, field.label), input, slider, error);
  }

  private input(field: Field, id: string): HTMLInputElement | HTMLSelectElement {
    if (field.kind === "choice") {
      const select = h("select", { id }, ...(field.choices ?? []).map((name) => h("option", { value: name }, name)));
      select.addEventListener("change", () => this.onSet(field.key, select.value, true));
      return select;
    }
    if (field.kind === "flag") {
      const box = h("input", { type: "checkbox", id });
      box.addEventListener("change", () => this.onSet(field.key, box.checked, true));
      return box;
    }
    const input = h("input", { id, type: "text", spellcheck: "false", autocomplete: "off" });
    if (field.kind === "cca") {
      input.setAttribute("list", "ccas");
      if (!document.getElementById("ccas")) document.body.append(h("datalist", { id: "ccas" }, ...this.ccas().map((name) => h("option", { value: name }))));
    }
    input.addEventListener("change", () => this.commit(field.key, input.value));
    return input;
  }

  private commit(key: string, text: string): void {
    const field = this.inputs.get(key)?.field;
    if (!field) return;
    const isNumber = field.kind === "number" || field.kind === "integer";
    const value = isNumber && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text.trim();
    this.onSet(key, wrapped(field, value), true);
  }

  private slide(key: string, isFinal: boolean): void {
    const at = this.inputs.get(key);
    if (!at?.slider || !at.field.slider) return;
    const value = valueAt(at.field, Number(at.slider.value));
    if (at.input instanceof HTMLInputElement) at.input.value = String(value);
    at.slider.setAttribute("aria-valuetext", String(value));
    this.onSet(key, wrapped(at.field, value), isFinal);
  }

  private update(field: Field): void {
    const at = this.inputs.get(field.key);
    if (!at) return;
    const { input, slider } = at;
    const range = at.field.slider;
    at.field = { ...field, slider: range && field.slider && contains(range, field) ? range : field.slider };
    input.classList.toggle("default", field.is_default);
    if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = field.value === true;
    else if (document.activeElement !== input) input.value = String(field.value);
    if (slider && at.field.slider && document.activeElement !== slider) slider.value = String(positionOf(at.field));
    slider?.setAttribute("aria-valuetext", String(field.value));
  }
}

function isParameter(field: Field): boolean {
  return /^flow\.\d+\.cca\./.test(field.key);
}

/** The value for the text: a new table where there is no jitter yet; nothing where the amount is zero. */
function wrapped(field: Field, value: unknown): unknown {
  if (!field.template || !field.amount) return value;
  return numberOf(value) === 0 ? null : { ...field.template, [field.amount]: value };
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : Number.parseFloat(String(value));
}

function contains(range: { low: number; high: number; unit: string }, field: Field): boolean {
  const number = numberOf(field.value);
  return range.unit === unitOf(field.value) && number >= range.low && number <= range.high;
}

function unitOf(value: unknown): string {
  return typeof value === "string" ? value.replace(/^[\s\d.]+/, "") : "";
}

function valueAt(field: Field, position: number): string | number {
  const { low, high, unit, is_log } = field.slider!;
  const part = position / STEPS;
  const exact = is_log ? low * (high / low) ** part : low + (high - low) * part;
  // Numbers of flows and packets are whole.
  const isWhole = field.kind === "integer" || unit.startsWith("pkt");
  const number = isWhole ? Math.max(1, Math.round(exact)) : Number(exact.toPrecision(3));
  return unit ? `${number}${unit}` : number;
}

function positionOf(field: Field): number {
  const { low, high, is_log } = field.slider!;
  const number = Math.min(Math.max(numberOf(field.value), low), high);
  const part = is_log ? Math.log(number / low) / Math.log(high / low) : (number - low) / (high - low);
  return Math.round(part * STEPS);
}
