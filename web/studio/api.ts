// Calls of the studio's server (fairweir/studio/app.py). Paths are relative to the page, whose address has the token.
import { decodeFrame } from "../charts/frame";
import type { Picture } from "../charts/picture";

export interface Slider {
  low: number;
  high: number;
  unit: string;
  is_log: boolean;
}

export interface Field {
  key: string;
  label: string;
  kind: "quantity" | "number" | "integer" | "cca" | "flag" | "choice" | "text";
  value: string | number | boolean;
  is_default: boolean;
  slider?: Slider;
  choices?: string[];
  /** For jitter that does not exist yet: the table that a value makes, with the value at `amount`. */
  template?: Record<string, string>;
  amount?: string;
}

export interface Group {
  title: string;
  fields: Field[];
}

export interface Problem {
  message: string;
  hint?: string | null;
  key?: string | null;
  line?: number | null;
}

export interface Row {
  of: string;
  quantity: string;
  unit: string;
  first: number;
  second: number;
  difference: number;
  lo: number | null;
  hi: number | null;
}

export interface Played {
  run: string;
  text: string;
  form: Group[];
  world: string;
  is_identical: boolean;
  not_judged: string;
  rows: Row[];
  packets: number;
  picture: Picture;
}

export interface Lesson {
  title: string;
  text: string[];
  question: string;
  answer: string;
  slider: { key: string };
}

export interface Start {
  first: string;
  files: string[];
  shipped: string[];
  lessons: Record<string, string>;
  ccas: Record<string, Record<string, unknown>>;
  worlds: string[];
  version: string;
}

/** The server's answer to bad input. */
export class Refused extends Error {
  constructor(
    readonly problems: Problem[],
    readonly isChanged = false,
  ) {
    super(problems.map((one) => one.message).join("; "));
  }
}

/** A newer call has replaced this one. */
export class Superseded extends Error {}

export const windowId = crypto.randomUUID();

async function post(name: string, body: object, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw new Superseded();
    throw new Refused([{ message: "the studio has ended", hint: "start `fairweir studio` again" }]);
  }
  if (response.ok) return response;
  const answer = (await response.json().catch(() => ({}))) as { superseded?: boolean; changed?: boolean; errors?: Problem[] };
  if (answer.superseded) throw new Superseded();
  throw new Refused(answer.errors ?? [{ message: `the studio answered ${response.status}` }], answer.changed);
}

export async function call<T>(name: string, body: object = {}): Promise<T> {
  return (await (await post(name, body)).json()) as T;
}

export async function callFrame<T>(name: string, body: object, signal?: AbortSignal): Promise<T> {
  const response = await post(name, body, signal);
  try {
    return decodeFrame<T>(await response.arrayBuffer());
  } catch (error) {
    if (signal?.aborted) throw new Superseded();
    throw error;
  }
}

export async function callText(name: string, body: object): Promise<string> {
  return (await post(name, body)).text();
}
