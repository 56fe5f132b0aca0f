// Draws the courses that a page contains: each element with `data-runs`, when it comes into view.
import { decodeFrame, unpack } from "../charts/frame";
import type { Picture } from "../charts/picture";
import type { ImageKind } from "../charts/save";
import { Timeline } from "../charts/timeline";
import "../charts/timeline.css";

/** Distance below the window at which a figure is drawn, CSS pixels, so that it is complete when it is scrolled to. */
const AHEAD = "600px 0px";

const text = document.getElementById("courses")?.textContent ?? "";
const drawn = new Map<HTMLElement, Timeline>();

function draw(root: HTMLElement, courses: Record<string, Picture[]>): Timeline {
  const known = drawn.get(root);
  if (known) return known;
  root.classList.add("timeline");
  const title = root.dataset["title"];
  const timeline = new Timeline(root, title ? { name: () => `${document.title} ${title}` } : {});
  drawn.set(root, timeline);
  timeline.show(courses[root.dataset["runs"] ?? ""] ?? []);
  root.dataset["drawn"] = "true";
  return timeline;
}

function listen(roots: HTMLElement[], courses: Record<string, Picture[]>): void {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(target as HTMLElement, courses);
    }
  }, { rootMargin: AHEAD });
  for (const root of roots) {
    const name = CSS.escape(root.dataset["runs"] ?? "");
    seen.observe(root);
    for (const reset of document.querySelectorAll(`[data-reset="${name}"]`)) {
      reset.addEventListener("click", () => drawn.get(root)?.reset());
    }
    for (const save of document.querySelectorAll<HTMLElement>(`[data-image="${name}"]`)) {
      save.addEventListener("click", () => void draw(root, courses).save(save.dataset["kind"] as ImageKind));
    }
  }
  // A tab that is not chosen is not printed.
  addEventListener("beforeprint", () => roots.filter((root) => root.offsetParent).forEach((root) => draw(root, courses)));
}

void unpack(text.trim()).then((bytes) =>
  listen([...document.querySelectorAll<HTMLElement>("[data-runs]")], decodeFrame<Record<string, Picture[]>>(bytes)),
);
