// The studio: the scenario on the left, its course in the middle, the summary on the right.
import type { Picture } from "../charts/picture";
import { IMAGE_KINDS } from "../charts/save";
import { Timeline } from "../charts/timeline";
import "../charts/timeline.css";
import { call, callFrame, callText, type Lesson, type Played, type Problem, Refused, type Start, windowId } from "./api";
import { onChoice } from "./choice";
import { byId, download, h } from "./dom";
import { Editor } from "./editor";
import { Form } from "./form";
import { fromLink, toLink } from "./link";
import { Player } from "./player";
import "./studio.css";
import { showSummary } from "./summary";
import { toggleTheme } from "./theme";

interface Pin {
  run: string;
  label: string;
  picture: Picture;
  text: string;
}

interface Opened {
  name: string;
  text: string;
  version: string;
  /** The only world in which the scenario runs; empty if it runs in several. */
  world?: string;
  lesson?: Lesson;
}

/** The views of the scenario: ids of their panels. */
const TABS = ["form", "toml"] as const;

class Studio {
  private readonly editor: Editor;
  private readonly form: Form;
  private readonly timeline: Timeline;
  private readonly player: Player;
  private opened: Opened = { name: "", text: "", version: "" };
  /** Changes of the form that were not sent yet, and what the call that runs was sent. */
  private settings: Record<string, unknown> = {};
  private sent: { name: string; text: string; settings: Record<string, unknown> } = { name: "", text: "", settings: {} };
  private last: Played | null = null;
  private pins: Pin[] = [];
  private mayRunCode = true;
  private drawn = 0;
  private progressTimer = 0;
  /** The progress of a long run. A browser has few connections to an address, so that idle windows have none. */
  private progress: EventSource | null = null;

  constructor(private readonly start: Start) {
    this.editor = new Editor(byId("toml"), () => {
      this.settings = {};
      this.player.playSoon();
      this.showName();
    });
    this.form = new Form(byId("form"), (key, value) => this.set(key, value), () => Object.keys(start.ccas));
    this.timeline = new Timeline(byId("timeline"), {
      onWindow: () => void this.refine(),
      name: () => this.opened.name.replace(/\.toml$/, ""),
    });
    byId("timeline").classList.add("timeline");
    this.player = new Player({
      body: () => this.body(),
      onPlayed: (played, startedAt) => this.onPlayed(played, startedAt),
      onRefused: (error) => this.showProblems(error.problems),
      onSuperseded: () => (this.settings = { ...this.sent.settings, ...this.settings }),
      onBusy: (isBusy) => this.showBusy(isBusy),
    });
    this.listen();
  }

  async begin(): Promise<void> {
    const linked = await fromLink(location.hash);
    if (linked !== null) {
      this.mayRunCode = false;
      this.opened = { name: "linked.toml", text: "", version: "" };
      this.editor.text = linked;
      this.player.play();
      this.showName();
      return;
    }
    const asked = new URLSearchParams(location.hash.slice(1));
    await this.open(asked.get("open") ?? this.start.first, asked.get("world") ?? "");
  }

  private body(): object {
    this.sent = { name: this.opened.name, text: this.editor.text, settings: this.settings };
    this.settings = {};
    return {
      window: windowId,
      name: this.opened.name,
      text: this.sent.text,
      set: this.sent.settings,
      world: byId<HTMLSelectElement>("world").value,
      seeds: Number(byId<HTMLInputElement>("seeds").value) || 1,
      against: this.pins[0]?.run ?? "",
      keep: this.pins.map((pin) => pin.run),
      view: this.timeline.visible,
      intervals: this.timeline.width,
      may_run_code: this.mayRunCode,
    };
  }

  private set(key: string, value: unknown): void {
    this.settings[key] = value === "" ? null : value;
    this.player.play();
  }

  private onPlayed(played: Played, startedAt: number): void {
    this.last = played;
    // Text that was typed meanwhile is newer.
    if (this.editor.text === this.sent.text) this.editor.text = played.text;
    this.editor.show([]);
    this.form.showProblems([]);
    this.form.show(played.form);
    this.showMessages(notices(played));
    this.draw();
    showSummary(byId("summary"), played.rows, this.pins.length > 0);
    this.showName();
    const name = this.sent.name;
    requestAnimationFrame(() => {
      this.drawn += 1;
      document.documentElement.dataset["name"] = name;
      performance.measure("studio:drawn", { start: startedAt, end: performance.now() });
      document.documentElement.dataset["drawn"] = String(this.drawn);
    });
  }

  private draw(): void {
    if (!this.last) return;
    const label = this.pins.length ? "this run" : this.last.picture.label;
    this.timeline.show([{ ...this.last.picture, label }, ...this.pins.map((pin) => pin.picture)]);
  }

  /** Asks for the visible part with more points. */
  private async refine(): Promise<void> {
    if (!this.last) return;
    const run = this.last.run;
    const runs = [run, ...this.pins.map((pin) => pin.run)];
    try {
      const { pictures } = await callFrame<{ pictures: Picture[] }>("views", { runs, view: this.timeline.visible, intervals: this.timeline.width });
      if (this.last.run !== run || pictures.length !== this.pins.length + 1) return;
      this.last.picture = pictures[0]!;
      this.pins.forEach((pin, i) => (pin.picture = { ...pictures[i + 1]!, label: pin.label }));
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  private showProblems(problems: Problem[]): void {
    this.editor.show(problems);
    const left = this.form.showProblems(problems);
    const shown = left.length ? left : problems;
    this.showMessages(shown.map((one) => ({ kind: "error", text: one.hint ? `${one.message}. ${one.hint}` : one.message })));
    byId("run").hidden = !problems.some((one) => one.message.includes("user's code"));
  }

  private showMessages(messages: { kind: string; text: string }[]): void {
    byId("messages").replaceChildren(...messages.map(({ kind, text }) => h("p", { class: kind }, text)));
  }

  private showBusy(isBusy: boolean): void {
    clearTimeout(this.progressTimer);
    const bar = byId<HTMLProgressElement>("progress");
    if (!isBusy) {
      bar.hidden = true;
      this.progress?.close();
      this.progress = null;
      return;
    }
    bar.removeAttribute("value");
    this.progressTimer = setTimeout(() => {
      bar.hidden = false;
      this.progress ??= progressOf(bar);
    }, 200) as unknown as number;
  }

  private showName(): void {
    const isChanged = this.editor.text !== this.opened.text;
    byId("name").textContent = this.opened.name + (isChanged ? " (changed)" : "");
    document.title = `${this.opened.name} – fairweir studio`;
  }

  private async open(name: string, world = ""): Promise<void> {
    try {
      this.opened = await call<Opened>("open", { name });
    } catch (error) {
      if (error instanceof Refused) this.showProblems(error.problems);
      return;
    }
    this.mayRunCode = true;
    this.settings = {};
    this.editor.text = this.opened.text;
    byId<HTMLSelectElement>("world").value = world || this.opened.world || "sim";
    this.pins = [];
    this.showPins();
    this.showLesson(this.opened.lesson ?? null);
    history.replaceState(null, "", location.pathname);
    this.timeline.reset();
    this.player.play();
    this.showName();
  }

  private async save(): Promise<void> {
    const isNew = this.start.shipped.includes(this.opened.name) || this.opened.name === "linked.toml" || this.opened.name.includes(":");
    const asked = isNew ? prompt("Save in this folder as", `${this.opened.name.replace(/^\w+:|\.(toml|parquet)\b/g, "").replaceAll("/", "-")}.toml`) : this.opened.name;
    if (!asked) return;
    const text = this.editor.text;
    const version = asked === this.opened.name ? this.opened.version : "";
    const store = async (expected: string | null) => {
      const { version: stored } = await call<{ version: string }>("save", { name: asked, text, version: expected });
      this.opened = { name: asked, text, version: stored };
      this.showMessages([{ kind: "note", text: `saved as ${asked}` }]);
      this.showName();
    };
    try {
      await store(version);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.isChanged && confirm(`${asked} exists, and its content is not the one that was opened. Replace it?`)) await store(null);
      else this.showMessages(error.problems.map((one) => ({ kind: "error", text: one.message })));
    }
  }

  private showLesson(lesson: Lesson | null): void {
    this.form.emphasize(lesson?.slider.key ?? null);
    const root = byId("lesson");
    root.hidden = lesson === null;
    if (!lesson) return;
    // Where the marked slider is.
    showTab("form");
    const names = Object.keys(this.start.lessons);
    const next = names[names.indexOf(this.opened.name) + 1];
    root.replaceChildren(
      h("h2", {}, lesson.title),
      ...lesson.text.map((text) => h("p", {}, ...withCode(text))),
      h("p", { class: "question" }, h("strong", {}, ...withCode(lesson.question)), " Move the marked slider."),
      h("details", {}, h("summary", {}, "Answer"), h("p", {}, ...withCode(lesson.answer))),
      ...(next ? [h("button", { type: "button", click: () => void this.open(next).then(() => root.focus()) }, `Next: ${this.start.lessons[next]}`)] : []),
    );
  }

  private pin(): void {
    if (!this.last) return;
    const label = `pin ${this.pins.length + 1}`;
    this.pins.push({ run: this.last.run, label, picture: { ...this.last.picture, label }, text: this.editor.text });
    this.showPins();
    this.player.play();
  }

  private showPins(): void {
    byId("pins").replaceChildren(
      ...this.pins.map((pin, i) =>
        h(
          "li",
          {},
          i === 0 ? `${pin.label} (compared)` : pin.label,
          h("button", { type: "button", click: () => { this.editor.text = pin.text; this.player.play(); } }, "use"),
          h("button", { type: "button", "aria-label": `Remove ${pin.label}`, click: () => { this.pins.splice(i, 1); this.showPins(); this.draw(); this.player.play(); } }, "remove"),
        ),
      ),
    );
  }

  private async share(): Promise<void> {
    if (!this.last) return;
    const runs = [{ run: this.last.run, label: this.pins.length ? "this run" : this.last.picture.label, text: this.editor.text }];
    runs.push(...this.pins.map(({ run, label, text }) => ({ run, label, text })));
    const page = await callText("share", { runs, title: this.opened.name.replace(/\.toml$/, "") });
    const url = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    download(`${this.opened.name.replace(/\.toml$/, "").replaceAll("/", "-")}.html`, url);
    URL.revokeObjectURL(url);
  }

  private async copy(text: string, what: string): Promise<void> {
    await navigator.clipboard.writeText(text);
    this.showMessages([{ kind: "note", text: `copied: ${what}` }]);
  }

  private command(): string {
    const world = byId<HTMLSelectElement>("world").value;
    return `fairweir run ${/[^\w./-]/.test(this.opened.name) ? `'${this.opened.name}'` : this.opened.name}${world === "sim" ? "" : ` --on ${world}`}`;
  }

  private listen(): void {
    const click = (id: string, action: () => void) => byId(id).addEventListener("click", action);
    const files = byId<HTMLSelectElement>("files");
    const options = (label: string, names: string[]) => h("optgroup", { label }, ...names.map((name) => h("option", { value: name }, name)));
    const tour = Object.entries(this.start.lessons).map(([name, title], i) => h("option", { value: name }, `${i + 1}. ${title}`));
    files.append(options("this folder", this.start.files), options("shipped", this.start.shipped), h("optgroup", { label: "tour" }, ...tour));
    onChoice(files, (name) => void this.open(name));
    const world = byId<HTMLSelectElement>("world");
    world.append(...this.start.worlds.map((name) => h("option", { value: name }, name)));
    world.addEventListener("change", () => this.player.play());
    byId("seeds").addEventListener("change", () => this.player.play());
    click("pin", () => this.pin());
    click("save", () => void this.save());
    click("all", () => this.timeline.reset());
    for (const kind of IMAGE_KINDS) click(kind, () => void this.timeline.save(kind));
    click("html", () => void this.share());
    click("copy-toml", () => void this.copy(this.editor.text, "TOML"));
    click("copy-command", () => void this.copy(this.command(), this.command()));
    click("copy-link", () => void toLink(this.editor.text).then((hash) => this.copy(`${location.origin}${location.pathname}${hash}`, "link")));
    click("run", () => { this.mayRunCode = true; byId("run").hidden = true; this.player.play(); });
    click("theme", toggleTheme);
    for (const tab of TABS) {
      click(`tab-${tab}`, () => showTab(tab));
      byId(`tab-${tab}`).addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const other = TABS.find((one) => one !== tab)!;
        showTab(other);
        byId(`tab-${other}`).focus();
      });
    }
    addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "s") {
        event.preventDefault();
        void this.save();
      }
    });
  }
}

/** Shows the progress of this window's runs. */
function progressOf(bar: HTMLProgressElement): EventSource {
  const events = new EventSource(`events?window=${windowId}`);
  events.addEventListener("message", (message) => {
    const event = JSON.parse(String(message.data)) as { kind: string; part?: number };
    if (event.kind === "progress") bar.value = event.part ?? 0;
  });
  return events;
}

/** Text between backquotes is code. */
function withCode(text: string): (Node | string)[] {
  return text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

function notices(played: Played): { kind: string; text: string }[] {
  const found = [];
  if (played.not_judged) found.push({ kind: "warning", text: `not judged: ${played.not_judged}` });
  if (played.is_identical) found.push({ kind: "warning", text: "all seeds gave the same numbers: nothing in this scenario is random, so there is no interval" });
  return found;
}

function showTab(name: string): void {
  for (const one of TABS) {
    byId(one).hidden = one !== name;
    byId(`tab-${one}`).setAttribute("aria-selected", String(one === name));
    byId(`tab-${one}`).tabIndex = one === name ? 0 : -1;
  }
}

void call<Start>("start").then((start) => new Studio(start).begin());
