// Plays the newest state of the scenario: one call at a time; a long one is replaced as soon as the state changes again.
import { callFrame, type Played, Refused, Superseded } from "./api";

/** A call that takes longer is cancelled by the next change; a shorter one is allowed to end, so that figures follow a slider. */
const PATIENCE_MS = 300;
/** Time without a change of the text after which it is played. */
const TYPING_MS = 250;

export interface PlayerEvents {
  body: () => object;
  onPlayed: (played: Played, startedAt: number) => void;
  onRefused: (error: Refused) => void;
  onSuperseded: () => void;
  onBusy: (isBusy: boolean) => void;
}

export class Player {
  private running: { abort: AbortController; startedAt: number } | null = null;
  private wantedAt: number | null = null;
  private timer = 0;
  private typing = 0;

  constructor(private readonly events: PlayerEvents) {}

  /** Plays now, or when the call that runs has ended. */
  play(): void {
    clearTimeout(this.typing);
    this.wantedAt ??= performance.now();
    if (!this.running) {
      void this.next();
      return;
    }
    clearTimeout(this.timer);
    const left = PATIENCE_MS - (performance.now() - this.running.startedAt);
    this.timer = setTimeout(() => this.running?.abort.abort(), Math.max(left, 0)) as unknown as number;
  }

  /** Plays when the text has not changed for a moment. */
  playSoon(): void {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.play(), TYPING_MS) as unknown as number;
  }

  private async next(): Promise<void> {
    while (this.wantedAt !== null) {
      const wantedAt = this.wantedAt;
      this.wantedAt = null;
      const abort = new AbortController();
      this.running = { abort, startedAt: performance.now() };
      this.events.onBusy(true);
      try {
        const played = await callFrame<Played>("play", this.events.body(), abort.signal);
        this.events.onPlayed(played, wantedAt);
      } catch (error) {
        if (error instanceof Refused) this.events.onRefused(error);
        else if (error instanceof Superseded) this.events.onSuperseded();
        else throw error;
      } finally {
        clearTimeout(this.timer);
        this.running = null;
      }
    }
    this.events.onBusy(false);
  }
}
