// The scenario's text: TOML with highlighting, line numbers and errors at their lines.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, Transaction } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "./api";

const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--holds)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--unknown)" },
  { tag: tags.keyword, fontWeight: "600" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent) !important",
  },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--rule)" },
});

export class Editor {
  private readonly view: EditorView;
  private isQuiet = false;

  constructor(parent: HTMLElement, onChange: (text: string) => void) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          history(),
          highlightActiveLine(),
          lintGutter(),
          StreamLanguage.define(toml),
          syntaxHighlighting(colors),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": "Scenario as TOML. Escape, then Tab leaves the editor." }),
          theme,
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !this.isQuiet) onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replaces the part of the text that differs, so that the cursor and the history of changes stay. */
  set text(next: string) {
    const now = this.text;
    if (now === next) return;
    let start = 0;
    while (start < now.length && start < next.length && now[start] === next[start]) start += 1;
    let end = 0;
    while (end < now.length - start && end < next.length - start && now[now.length - 1 - end] === next[next.length - 1 - end]) end += 1;
    this.isQuiet = true;
    this.view.dispatch({
      changes: { from: start, to: now.length - end, insert: next.slice(start, next.length - end) },
      annotations: Transaction.userEvent.of("form"),
    });
    this.isQuiet = false;
  }

  show(problems: Problem[]): void {
    const doc = this.view.state.doc;
    const found: Diagnostic[] = problems.flatMap((one) => {
      if (!one.line || one.line > doc.lines) return [];
      const line = doc.line(one.line);
      return [{ from: line.from, to: line.to, severity: "error", message: one.hint ? `${one.message}\n${one.hint}` : one.message }];
    });
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }
}
