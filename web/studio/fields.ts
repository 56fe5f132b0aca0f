// The form of a command: its arguments and main options.
import type { Problem } from "./api";
import { h } from "./dom";

interface Field {
  name: string;
  label: string;
  kind: "text" | "words" | "lines" | "flag" | "choice";
  help: string;
  option: string;
  default: string;
  is_required: boolean;
  choices: string[] | null;
  suggests: string;
}

export interface Form {
  name: string;
  summary: string;
  fields: Field[];
  suggestions: Record<string, string[]>;
}

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export class Fields {
  private readonly inputs = new Map<string, Input>();
  private readonly tie = h("input", { type: "checkbox", id: "tied" });

  constructor(root: HTMLElement, form: Form, onCopy: () => void) {
    root.replaceChildren(
      ...Object.entries(form.suggestions).map(([name, words]) =>
        h("datalist", { id: `suggest-${name}` }, ...words.map((word) => h("option", { value: word }))),
      ),
      ...form.fields.map((field) => this.row(field)),
      h("div", { class: "tie" }, this.tie, h("label", { for: "tied" }, "stop when this page is closed")),
      h("p", { class: "buttons" }, h("button", { type: "submit", id: "start" }, "Start"), h("button", { type: "button", id: "copy-command", click: onCopy }, "Copy command")),
    );
  }

  get values(): Record<string, string | boolean> {
    const value = (input: Input) => (input instanceof HTMLInputElement && input.type === "checkbox" ? input.checked : input.value);
    return Object.fromEntries([...this.inputs].map(([name, input]) => [name, value(input)]));
  }

  get isTied(): boolean {
    return this.tie.checked;
  }

  showProblems(problems: Problem[]): void {
    for (const [name, input] of this.inputs) {
      if (problems.some((one) => one.key === name)) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }

  private row(field: Field): HTMLElement {
    const id = `field-${field.name}`;
    const shared = { id, name: field.name, "aria-describedby": `${id}-help` };
    const input = inputOf(field, shared);
    this.inputs.set(field.name, input);
    const mark = field.is_required ? " (required)" : "";
    return h(
      "div",
      { class: `row ${field.kind}` },
      h("label", { for: id }, field.label + mark),
      input,
      h("p", { class: "help", id: `${id}-help` }, field.kind === "lines" ? `${field.help} One per line.` : field.help),
    );
  }
}

function inputOf(field: Field, shared: Record<string, string>): Input {
  if (field.kind === "flag") return h("input", { ...shared, type: "checkbox" });
  if (field.kind === "choice") return h("select", shared, ...(field.choices ?? []).map((one) => h("option", { value: one }, one)));
  if (field.kind === "lines") return h("textarea", { ...shared, rows: 2, spellcheck: "false" });
  return h("input", {
    ...shared,
    type: "text",
    spellcheck: "false",
    placeholder: field.default || undefined,
    list: field.suggests ? `suggest-${field.suggests}` : undefined,
  });
}
