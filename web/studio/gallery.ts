// The gallery: scenarios of failing claims, refutations, certificates and published figures; each opens in the studio.
import { call } from "./api";
import { byId, h } from "./dom";
import { toggleTheme } from "./theme";

interface Group {
  kind: string;
  title: string;
  text: string;
  items: { name: string; title: string; world: string }[];
}

function show(groups: Group[]): void {
  const kinds = ["Failing claims of audits", "Refutations", "Starvation certificates", "Published figures"];
  byId("gallery").replaceChildren(
    ...kinds.map((kind) => {
      const found = groups.filter((group) => group.kind === kind);
      const empty = h("p", {}, "None in this folder yet: run ", h("a", { href: "commands" }, "a command"), ".");
      return h("section", {}, h("h2", {}, kind), ...(found.length ? found.map(article) : [empty]));
    }),
  );
  byId("gallery").setAttribute("aria-busy", "false");
}

function article(group: Group): HTMLElement {
  const items = group.items.map(({ name, title, world }) => {
    const asked = new URLSearchParams(world ? { open: name, world } : { open: name });
    return h("li", {}, h("a", { href: `./#${asked}` }, title));
  });
  return h("article", {}, h("h3", {}, group.title), h("p", { class: "help" }, group.text), h("ul", {}, ...items));
}

byId("theme").addEventListener("click", toggleTheme);
void call<{ groups: Group[] }>("gallery").then(({ groups }) => show(groups));
