import type { UserPosition } from '../errors/position.ts';

/**
 * The activity during a span: an op with all that belongs to it, its kernel alone, a run of a program, a backward
 * node, a copy, compiling, or a name of the user's.
 */
export type SpanKind = 'op' | 'kernel' | 'program' | 'backward' | 'copy' | 'compile' | 'user';

export interface SpanStart {
  readonly kind: SpanKind;
  readonly name: string;
  /** Where it ran: the name of a device, or `host`. */
  readonly device: string;
  readonly at?: UserPosition | undefined;
  /** How many bytes a copy moves. */
  readonly bytes?: number;
}

/** One kernel that a device times by its own clock. */
export interface KernelTiming {
  /** Called once: with milliseconds, or null where it didn't run or has no time. */
  end(time: number | null): void;
}

/** Gets every span while profiling is on. */
export interface SpanSink {
  /** Spans that begin before its `end` lie inside it. */
  begin(start: SpanStart): void;
  end(): void;
  /** One that ends when others do not wait for it; nothing lies inside it. Returns what ends it. */
  open(start: SpanStart): () => void;
  /** A kernel that the device will tell the time of, maybe after the recording. */
  timed(op: string, device: string): KernelTiming;
}

/** Spans of time go to at most one sink; nothing is built while there is none. */
class Spans {
  #sink: SpanSink | null = null;
  /** True while a profile is recorded. Check it before creating a closure for `around`. */
  active = false;

  get sink(): SpanSink | null {
    return this.#sink;
  }

  set sink(sink: SpanSink | null) {
    this.#sink = sink;
    this.active = sink !== null;
  }

  /** Runs `body` as one span. */
  around<T>(start: SpanStart, body: () => T): T {
    const sink = this.#sink;
    if (!sink) return body();
    sink.begin(start);
    try {
      return body();
    } finally {
      sink.end();
    }
  }

  /** Runs an asynchronous `body` as one span. */
  async aroundAsync<T>(start: SpanStart, body: () => Promise<T>): Promise<T> {
    const end = this.#sink?.open(start);
    try {
      return await body();
    } finally {
      end?.();
    }
  }
}

export const spans = new Spans();
