// Draws the runs that a page contains: each element with `data-runs` shows the frame in the script element of that id.
import { decodeBase64, decodeFrame } from "../charts/frame";
import type { Picture } from "../charts/picture";
import type { ImageKind } from "../charts/save";
import { Timeline } from "../charts/timeline";
import "../charts/timeline.css";

for (const root of document.querySelectorAll<HTMLElement>("[data-runs]")) {
  const text = document.getElementById(root.dataset["runs"] ?? "")?.textContent ?? "";
  const { pictures } = decodeFrame<{ pictures: Picture[] }>(decodeBase64(text.trim()));
  root.classList.add("timeline");
  const timeline = new Timeline(root);
  timeline.show(pictures);
  const reset = document.querySelector<HTMLElement>(`[data-reset="${root.dataset["runs"]}"]`);
  reset?.addEventListener("click", () => timeline.reset());
  for (const save of document.querySelectorAll<HTMLElement>(`[data-image="${root.dataset["runs"]}"]`)) {
    save.addEventListener("click", () => void timeline.save(save.dataset["kind"] as ImageKind));
  }
  root.dataset["drawn"] = "true";
}
