// The format of a server's answer: the length of a JSON text (uint32), the text, padding to 4 bytes, and numbers (float32).
// In the text, {"$numbers": [first, count]} stands for a part of the numbers.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function decodeFrame<T>(buffer: ArrayBuffer): T {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const start = 4 + length + ((4 - (length % 4)) % 4);
  const numbers = new Float32Array(buffer, start);
  return resolve(JSON.parse(text) as Json, numbers) as T;
}

/** Returns the bytes of a text in Base64 that are compressed with gzip. */
export async function unpack(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function resolve(value: Json, numbers: Float32Array): unknown {
  if (Array.isArray(value)) return value.map((one) => resolve(one, numbers));
  if (value === null || typeof value !== "object") return value;
  const part = value["$numbers"];
  if (Array.isArray(part)) {
    const [first, count] = part as [number, number];
    return numbers.subarray(first, first + count);
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one, numbers)]));
}
