// A link that carries a scenario: its text, compressed, behind the # of the address, which browsers do not send to servers.

export async function toLink(text: string): Promise<string> {
  const packed = new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  const bytes = new Uint8Array(await packed.arrayBuffer());
  let binary = "";
  bytes.forEach((byte) => (binary += String.fromCharCode(byte)));
  return `#s=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Returns the text of a link; null if the address carries none, or a damaged one. */
export async function fromLink(hash: string): Promise<string | null> {
  const packed = /^#s=([\w-]+)$/.exec(hash)?.[1];
  if (!packed) return null;
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const text = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
    return await text.text();
  } catch {
    return null;
  }
}
