import type { UserPosition } from '../errors/position.ts';
import { events } from '../memory/events.ts';
import type { KernelTiming, SpanKind, SpanSink, SpanStart } from './spans.ts';

/** A time span, in milliseconds since the start of the recording. */
export interface Span {
  readonly kind: SpanKind;
  readonly name: string;
  readonly device: string;
  readonly at: UserPosition | undefined;
  /** The bytes moved by a copy. */
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
  /** The index of the enclosing span, −1 for none. */
  readonly parent: number;
  /** Whether it is asynchronous: a device read that completes later. */
  readonly isAsync: boolean;
  /** Bytes allocated in the span, excluding nested spans. */
  readonly allocated: number;
}

/** A kernel timed by its device's clock. */
export interface KernelTime {
  readonly op: string;
  readonly device: string;
  /** Milliseconds; null if it didn't run or the device couldn't time it. */
  readonly time: number | null;
}

interface Recording {
  readonly spans: readonly Span[];
  readonly duration: number;
  readonly timed: readonly Promise<KernelTime>[];
}

type Open = { -readonly [K in keyof Span]: Span[K] };

/** Collects spans and their allocations. */
export class SpanRecorder implements SpanSink {
  readonly #began = performance.now();
  readonly #spans: Open[] = [];
  /** Indices of the open spans, the innermost last. */
  readonly #stack: number[] = [];
  readonly #unsubscribe: () => void;
  readonly #timed: Promise<KernelTime>[] = [];

  constructor() {
    this.#unsubscribe = events.subscribe((event) => {
      if (event.kind !== 'alloc') return;
      const inner = this.#spans[this.#stack.at(-1) ?? -1];
      if (inner) inner.allocated += event.bytes;
    });
  }

  begin(start: SpanStart): void {
    this.#stack.push(this.#add(start, false));
  }

  end(): void {
    this.#spans[this.#stack.pop()!]!.end = this.#now();
  }

  open(start: SpanStart): () => void {
    const span = this.#spans[this.#add(start, true)]!;
    return () => {
      span.end = this.#now();
    };
  }

  timed(op: string, device: string): KernelTiming {
    let end!: KernelTiming['end'];
    this.#timed.push(
      new Promise((resolve) => {
        end = (time) => resolve({ op, device, time });
      }),
    );
    return { end };
  }

  /** Returns everything recorded so far. Open spans end now; kernels may be timed later. */
  stop(): Recording {
    this.#unsubscribe();
    const duration = this.#now();
    for (const span of this.#spans) span.end = Math.min(span.end, duration);
    return { spans: this.#spans, duration, timed: this.#timed };
  }

  #add({ kind, name, device, at, bytes = 0 }: SpanStart, isAsync: boolean): number {
    this.#spans.push({
      ...{ kind, name, device, at, bytes, isAsync },
      start: this.#now(),
      end: Number.POSITIVE_INFINITY,
      parent: this.#stack.at(-1) ?? -1,
      allocated: 0,
    });
    return this.#spans.length - 1;
  }

  #now(): number {
    return performance.now() - this.#began;
  }
}
