// A command that was started: its state, and its events as the server sends them.

export interface Status {
  state: "running" | "stopping" | "ended";
  exit_code: number | null;
  outcome: string;
}

export interface Work extends Status {
  id: string;
  command: string;
  line: string;
  resumes: boolean;
}

interface Listener {
  onOutput: (stream: string, text: string) => void;
  onProgress: (what: string, part: number | null) => void;
  onState: (status: Status) => void;
}

type Event =
  | { kind: "output"; stream: string; text: string }
  | { kind: "progress"; what: string; part: number | null }
  | ({ kind: "state" } & Status);

/** Follows a command from its start; the browser reconnects by itself. Returns a function that ends this. */
export function follow(id: string, listener: Listener): () => void {
  const events = new EventSource(`work?id=${encodeURIComponent(id)}`);
  events.addEventListener("message", (message) => {
    const event = JSON.parse(String(message.data)) as Event;
    if (event.kind === "output") listener.onOutput(event.stream, event.text);
    else if (event.kind === "progress") listener.onProgress(event.what, event.part);
    else {
      listener.onState(event);
      if (event.state === "ended") events.close();
    }
  });
  return () => events.close();
}
