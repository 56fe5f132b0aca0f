// Saves an SVG image as a file: as it is, or drawn as a PNG.

export type ImageKind = "png" | "svg";
export const IMAGE_KINDS: readonly ImageKind[] = ["png", "svg"];

/** Pixels of a PNG per unit of the SVG. */
const SCALE = 2;

export async function saveImage(svg: string, words: string[], kind: ImageKind): Promise<void> {
  const blob = kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await rasterized(svg);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${fileName(words)}.${kind}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Returns the words as the name of a file on every system. */
export function fileName(words: string[]): string {
  return words.map((word) => word.replace(/[^\p{L}\p{N}_.]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "")).filter(Boolean).join("-").slice(0, 120) || "figure";
}

async function rasterized(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * SCALE;
  canvas.height = image.height * SCALE;
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no image"))), "image/png"));
}
