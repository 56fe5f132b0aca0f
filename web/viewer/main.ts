// Draws the runs that a page contains: each element with `data-runs` shows the frame in the script element of that id.
import { decodeBase64, decodeFrame } from "../charts/frame";
import type { Picture } from "../charts/picture";
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
  const save = document.querySelector<HTMLElement>(`[data-image="${root.dataset["runs"]}"]`);
  save?.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = timeline.image().toDataURL("image/png");
    link.download = `${document.title.replace(/[^\w-]+/g, "-")}.png`;
    link.click();
  });
  root.dataset["drawn"] = "true";
}
