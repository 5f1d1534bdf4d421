/** `progress(loader)`: a progress bar in the terminal while a loop consumes batches. */

import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anObject, count, orNull, text, that } from '../options/option-kinds.ts';

/** A terminal, or a substitute for it. */
export interface ProgressTarget {
  /** On a terminal the line is rewritten; any other target gets one line per tenth. */
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface ProgressOptions {
  /** Text before the bar. */
  readonly label?: string;
  /** The number of steps; defaults to the source's `length`. Without either, steps are only counted. */
  readonly total?: number;
  /** The target of the bar; standard error by default, none in pages. */
  readonly to?: ProgressTarget | null;
}

const progressKinds: OptionKinds<ProgressOptions> = {
  label: text,
  total: count(0),
  to: orNull(
    that(
      'a stream with write()',
      (value) => typeof (value as ProgressTarget | null)?.write === 'function',
    ),
  ),
};

type Source<T> = Iterable<T> | AsyncIterable<T>;

const width = 24;
/** The minimum time between two updates, in milliseconds. */
const interval = 80;

interface Host {
  readonly process?: { readonly stderr?: ProgressTarget };
}

/** Iterates over its source, synchronously or with `for await`, and draws the progress. */
export class Progress<T> {
  readonly #source: Source<T>;
  readonly #label: string;
  readonly #total: number | undefined;
  readonly #to: ProgressTarget | null;
  #values = '';
  #done = 0;
  #began = 0;
  #drawn = Number.NEGATIVE_INFINITY;
  #tenth = -1;
  #length = 0;

  constructor(source: Source<T>, options: ProgressOptions) {
    expectArguments('progress', { source }, { source: anObject });
    expectOptions('progress', options, progressKinds);
    const { length } = source as { readonly length?: unknown };
    this.#source = source;
    this.#label = options.label ? `${options.label} ` : '';
    this.#total = options.total ?? (typeof length === 'number' ? length : undefined);
    this.#to =
      options.to === undefined ? ((globalThis as Host).process?.stderr ?? null) : options.to;
  }

  /** Shows values after the bar: `bar.show({ loss: 0.25 })`. */
  show(values: Readonly<Record<string, number | string>>): void {
    const text = ([name, value]: readonly [string, number | string]) =>
      `${name} ${typeof value === 'number' ? rounded(value) : value}`;
    this.#values = Object.entries(values).map(text).join('  ');
    this.#draw(false);
  }

  *[Symbol.iterator](): Iterator<T> {
    this.#start();
    try {
      for (const item of this.#source as Iterable<T>) {
        yield item;
        this.#step();
      }
    } finally {
      this.#end();
    }
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    this.#start();
    try {
      for await (const item of this.#source) {
        yield item;
        this.#step();
      }
    } finally {
      this.#end();
    }
  }

  #start(): void {
    this.#done = 0;
    this.#tenth = -1;
    this.#began = performance.now();
    this.#draw(true);
  }

  #step(): void {
    this.#done++;
    this.#draw(false);
  }

  #end(): void {
    this.#draw(true);
    if (this.#to?.isTTY) this.#to.write('\n');
  }

  #draw(always: boolean): void {
    const to = this.#to;
    if (!to) return;
    if (!to.isTTY) {
      this.#drawTenth(to);
      return;
    }
    const now = performance.now();
    if (!always && now - this.#drawn < interval) return;
    this.#drawn = now;
    const line = this.#line(now);
    to.write(`\r${line.padEnd(this.#length)}`);
    this.#length = line.length;
  }

  /** Prints a line for each tenth, for files and pipes. */
  #drawTenth(to: ProgressTarget): void {
    if (!this.#total || this.#done === 0) return;
    const tenth = Math.floor((10 * this.#done) / this.#total);
    if (tenth === this.#tenth) return;
    this.#tenth = tenth;
    to.write(`${this.#line(performance.now())}\n`);
  }

  #line(now: number): string {
    const seconds = (now - this.#began) / 1000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const total = this.#total;
    const values = this.#values === '' ? '' : `  ${this.#values}`;
    const speed = this.#done > 0 ? `  ${rounded(rate)}/s` : '';
    if (total === undefined) return `${this.#label}${this.#done}${speed}${values}`;
    const part = total > 0 ? Math.min(this.#done / total, 1) : 1;
    const full = Math.round(part * width);
    const bar = '█'.repeat(full) + '░'.repeat(width - full);
    const left = rate > 0 && part < 1 ? `  ${duration((total - this.#done) / rate)} left` : '';
    return `${this.#label}${bar} ${this.#done}/${total}${speed}${left}${values}`;
  }
}

function rounded(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.ceil(seconds % 60)} s`;
}

/**
 * Wraps a source with a progress bar: `for await (const batch of progress(loader, { label: 'epoch 1' }))`.
 * `show()` adds values to the bar.
 */
export function progress<T>(source: Source<T>, options: ProgressOptions = {}): Progress<T> {
  return new Progress(source, options);
}
