// The page of the long commands: a form, the command line that it stands for, and a command that runs.
import { call, type Problem, Refused } from "./api";
import { byId, h } from "./dom";
import { Fields, type Form } from "./fields";
import { toggleTheme } from "./theme";
import { follow, type Status, type Work } from "./work";

interface ResultFile {
  name: string;
  kind: "page" | "scenario" | "file";
}

/** Time between two looks at the files of results while a command runs. */
const FILES_MS = 1_500;

class CommandPage {
  private fields: Fields | null = null;
  private form: Form | null = null;
  private works: Work[] = [];
  private work: Work | null = null;
  private unfollow: () => void = () => undefined;
  private filesTimer = 0;

  constructor(private readonly names: string[]) {
    addEventListener("hashchange", () => void this.show());
    byId("theme").addEventListener("click", toggleTheme);
    byId("fields").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.start();
    });
  }

  /** Shows the command of the address, `#guard evaluate`, and the one that was started there, `#audit/ID`. */
  async show(): Promise<void> {
    const [name = "", id] = decodeURIComponent(location.hash.slice(1)).split("/");
    const command = this.names.includes(name) ? name : this.names[0]!;
    showNavigation(this.names, command);
    document.title = `${command} – fairweir studio`;
    if (this.form?.name !== command) {
      this.form = await call<Form>("form", { command });
      byId("command").textContent = `fairweir ${command}`;
      byId("about").textContent = this.form.summary;
      this.fields = new Fields(byId("fields"), this.form, () => void this.copy());
      this.showProblems([]);
    }
    await this.showWorks(id);
  }

  private async start(): Promise<void> {
    if (!this.form || !this.fields) return;
    const { values, isTied } = this.fields;
    try {
      this.showProblems([]);
      const work = await call<Work>("start-command", { command: this.form.name, values, is_tied: isTied });
      location.hash = `${encodeURIComponent(work.command)}/${work.id}`;
      byId("work").focus({ preventScroll: true });
    } catch (error) {
      this.refused(error);
    }
  }

  private async copy(): Promise<void> {
    if (!this.form || !this.fields) return;
    try {
      const { line } = await call<{ line: string }>("command-line", { command: this.form.name, values: this.fields.values });
      this.showProblems([]);
      await navigator.clipboard.writeText(line);
      byId("messages").replaceChildren(h("p", { class: "note" }, "copied: ", h("code", {}, line)));
    } catch (error) {
      this.refused(error);
    }
  }

  private refused(error: unknown): void {
    if (!(error instanceof Refused)) throw error;
    this.showProblems(error.problems);
  }

  private showProblems(problems: Problem[]): void {
    this.fields?.showProblems(problems);
    const words = (one: Problem) => (one.hint ? `${one.message}. ${one.hint}` : one.message);
    byId("messages").replaceChildren(...problems.map((one) => h("p", { class: "error" }, words(one))));
  }

  private async showWorks(id: string | undefined): Promise<void> {
    const { works } = await call<{ works: Work[] }>("commands");
    const shown = works.find((one) => one.id === id);
    this.works = works;
    this.listWorks(id);
    if (shown?.id === this.work?.id) return;
    this.unfollow();
    clearInterval(this.filesTimer);
    this.work = shown ?? null;
    byId("current").hidden = !shown;
    byId("none").hidden = shown !== undefined;
    if (shown) this.follow(shown);
  }

  private listWorks(id: string | undefined): void {
    byId("earlier").hidden = this.works.length === 0;
    byId("works").replaceChildren(
      ...this.works.map((one) =>
        h("li", {}, h("a", { href: addressOf(one), "aria-current": one.id === id ? "true" : undefined }, one.line), ` ${wordsOf(one)}`),
      ),
    );
  }

  private follow(work: Work): void {
    byId("line").textContent = work.line;
    byId("output").textContent = "";
    byId("what").textContent = "";
    byId("part").removeAttribute("value");
    byId("files").replaceChildren();
    byId("files-title").hidden = true;
    this.showState(work, work);
    this.filesTimer = setInterval(() => void this.showFiles(work), FILES_MS) as unknown as number;
    this.unfollow = follow(work.id, {
      onOutput: (stream, text) => {
        const output = byId("output");
        const isAtEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
        output.append(stream === "stderr" ? h("span", { class: "stderr" }, text) : text);
        if (isAtEnd) output.scrollTop = output.scrollHeight;
      },
      onProgress: (what, part) => {
        const bar = byId<HTMLProgressElement>("part");
        if (part === null) bar.removeAttribute("value");
        else bar.value = part;
        byId("what").textContent = part === null ? what : `${Math.floor(part * 100)} % ${what}`;
      },
      onState: (status) => {
        Object.assign(work, status);
        this.showState(work, status);
        this.listWorks(work.id);
      },
    });
  }

  private showState(work: Work, status: Status): void {
    const state = byId("state");
    state.textContent = wordsOf(work);
    state.className = `state ${classOf(status)}`;
    byId("part").hidden = status.state !== "running";
    byId("what").hidden = status.state !== "running";
    const again = (text: string) => h("button", { type: "button", click: () => void this.again(work) }, text);
    const stop = (text: string) => h("button", { type: "button", id: "stop", click: () => void this.stop(work) }, text);
    const isInterrupted = status.exit_code !== null && ![0, 1, 2].includes(status.exit_code);
    byId("actions").replaceChildren(
      ...(status.state === "running" ? [stop("Stop")] : []),
      ...(status.state === "stopping" ? [stop("End at once, without storing")] : []),
      ...(status.state === "ended" ? [again(isInterrupted && work.resumes ? "Resume" : "Run again")] : []),
    );
    if (status.state === "ended") {
      clearInterval(this.filesTimer);
      void this.showFiles(work);
    }
    document.documentElement.dataset["state"] = status.state;
  }

  private async stop(work: Work): Promise<void> {
    try {
      await call("stop-command", { work: work.id });
    } catch (error) {
      this.refused(error);
    }
  }

  private async again(work: Work): Promise<void> {
    try {
      const next = await call<Work>("restart-command", { work: work.id });
      location.hash = addressOf(next).split("#")[1]!;
    } catch (error) {
      this.refused(error);
    }
  }

  private async showFiles(work: Work): Promise<void> {
    let files: ResultFile[];
    try {
      ({ files } = await call<{ files: ResultFile[] }>("command-files", { work: work.id }));
    } catch (error) {
      clearInterval(this.filesTimer);
      this.refused(error);
      return;
    }
    if (this.work !== work) return;
    byId("files-title").hidden = files.length === 0;
    byId("files").replaceChildren(...files.map((file) => h("li", { class: file.kind }, ...linksOf(file, work))));
  }
}

function addressOf(work: Work): string {
  return `#${encodeURIComponent(work.command)}/${work.id}`;
}

function linksOf(file: ResultFile, work: Work): Node[] {
  const path = `files/${file.name.split("/").map(encodeURIComponent).join("/")}`;
  const link = h("a", { href: path, target: "_blank", rel: "noopener" }, file.name);
  if (file.kind !== "scenario") return [link];
  const world = / --on (\w+)/.exec(work.line)?.[1];
  const asked = new URLSearchParams(world ? { open: file.name, world } : { open: file.name });
  return [h("a", { href: `./#${asked}` }, file.name), h("a", { href: path, target: "_blank", rel: "noopener" }, "text")];
}

function wordsOf(work: Work): string {
  if (work.state === "running") return "running";
  if (work.state === "stopping") return "stopping: finished work is being stored";
  return `ended, exit ${work.exit_code}: ${work.outcome}`;
}

function classOf(status: Status): string {
  if (status.state !== "ended") return "unknown";
  return status.exit_code === 0 ? "holds" : status.exit_code === 1 ? "fails" : "unknown";
}

function showNavigation(names: string[], current: string): void {
  byId("pages").replaceChildren(
    h("a", { href: "./" }, "scenario"),
    h("a", { href: "gallery" }, "gallery"),
    ...names.map((name) => h("a", { href: `#${encodeURIComponent(name)}`, "aria-current": name === current ? "page" : undefined }, name)),
  );
}

void call<{ names: string[] }>("commands").then(({ names }) => new CommandPage(names).show());
