import type { UserPosition } from '../errors/position.ts';

/**
 * The activity during a span: a whole op, only its kernel, a program run, a backward node, a copy, compilation, or a
 * span that the user named.
 */
export type SpanKind = 'op' | 'kernel' | 'program' | 'backward' | 'copy' | 'compile' | 'user';

export interface SpanStart {
  readonly kind: SpanKind;
  readonly name: string;
  /** The device's name, or `host`. */
  readonly device: string;
  readonly at?: UserPosition | undefined;
  /** The number of bytes moved by a copy. */
  readonly bytes?: number;
}

/** A kernel timed by its device's clock. */
export interface KernelTiming {
  /** Called once, with milliseconds, or null if the kernel didn't run or wasn't timed. */
  end(time: number | null): void;
}

/** Receives every span while profiling is active. */
export interface SpanSink {
  /** Begins a span; spans that begin before its `end` are nested in it. */
  begin(start: SpanStart): void;
  end(): void;
  /** Begins an asynchronous span, in which nothing nests. Returns a function that ends it. */
  open(start: SpanStart): () => void;
  /** Registers a kernel that the device will time, possibly after the recording. */
  timed(op: string, device: string): KernelTiming;
}

/** Passes spans to at most one sink; without a sink nothing is created. */
class Spans {
  #sink: SpanSink | null = null;
  /** Whether a profile is being recorded. Check it before calling `around`. */
  active = false;

  get sink(): SpanSink | null {
    return this.#sink;
  }

  set sink(sink: SpanSink | null) {
    this.#sink = sink;
    this.active = sink !== null;
  }

  /**
   * Runs `body` as one span. Pass its arguments: a closure over the parameters of its caller would be paid for by every
   * call of that function, also without a profile.
   */
  around<T, A extends readonly unknown[]>(
    start: SpanStart,
    body: (...args: A) => T,
    ...args: A
  ): T {
    const sink = this.#sink;
    if (!sink) return body(...args);
    sink.begin(start);
    try {
      return body(...args);
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
