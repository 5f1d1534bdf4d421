import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, oneOf } from '../options/option-kinds.ts';
import { chromeTrace, type TraceEvent } from './chrome-trace.ts';
import { type DeviceTimeRow, deviceTimeRows } from './device-times.ts';
import { type ProfileRow, rowsOf, type SortKey, sortKeys } from './profile-rows.ts';
import type { KernelTime, Span } from './recorder.ts';
import { printReport } from './report.ts';

export interface ReportOptions {
  /** The column to sort by, largest first; `total` by default. */
  readonly sort?: SortKey;
  /** The number of rows to print; 30 by default. */
  readonly limit?: number;
}

const reportKinds: OptionKinds<ReportOptions> = { sort: oneOf(...sortKeys), limit: count(0) };

/** Bytes copied between JavaScript and devices. */
export interface CopySummary {
  readonly calls: number;
  readonly bytes: number;
  /** Milliseconds. */
  readonly total: number;
}

/** A finished recording. Times are milliseconds of the host clock. */
export class Profile {
  readonly spans: readonly Span[];
  /** From start to stop. */
  readonly duration: number;
  /** Devices in the order of their first use. */
  readonly devices: readonly string[];

  readonly #timed: readonly Promise<KernelTime>[];

  constructor(
    spans: readonly Span[],
    duration: number,
    timed: readonly Promise<KernelTime>[] = [],
  ) {
    this.spans = spans;
    this.duration = duration;
    this.#timed = timed;
    this.devices = [...new Set(spans.map(({ device }) => device))].filter(
      (name) => name !== 'host',
    );
  }

  /** The time in kernels. For an asynchronous device, the time to issue them. */
  get computation(): number {
    return this.#sum(({ kind }) => kind === 'kernel');
  }

  /** The time to trace and compile captured functions. */
  get compiling(): number {
    return this.#sum(
      ({ kind, parent }) => kind === 'compile' && !this.#isInside(parent, 'compile'),
    );
  }

  /** Synchronous and asynchronous copies. */
  get copies(): { readonly sync: CopySummary; readonly async: CopySummary } {
    const copies = this.spans.filter(({ kind }) => kind === 'copy');
    return {
      sync: summary(copies.filter(({ isAsync }) => !isAsync)),
      async: summary(copies.filter(({ isAsync }) => isAsync)),
    };
  }

  /** All other time between the first and the last span: this package's own work and user code. */
  get overhead(): number {
    const known = this.computation + this.compiling + this.copies.sync.total;
    return Math.max(0, this.duration - known);
  }

  /** Returns one row per name, with copies and kernels nested under their cause. */
  rows(sort: SortKey = 'total'): readonly ProfileRow[] {
    return rowsOf(this.spans, this.duration, sort);
  }

  /**
   * Resolves to the kernels' times by the device's clock, one row per op, longest first; empty except on WebGPU
   * adapters with `timestamp-query`. Waits until the device has finished the recorded work.
   */
  async deviceTimes(): Promise<readonly DeviceTimeRow[]> {
    return deviceTimeRows(await Promise.all(this.#timed));
  }

  /** Returns totals and a table as text. */
  report(options: ReportOptions = {}): string {
    expectOptions('report', options, reportKinds);
    return printReport(this, options);
  }

  /** Returns the trace for viewers of the Trace Event Format: chrome://tracing, ui.perfetto.dev. */
  trace(): { readonly traceEvents: readonly TraceEvent[] } {
    return chromeTrace(this.spans);
  }

  toString(): string {
    return this.report();
  }

  /** Returns plain data. */
  toJSON(): object {
    const { duration, devices, computation, compiling, copies, overhead } = this;
    return { duration, devices, computation, compiling, copies, overhead, rows: this.rows() };
  }

  #sum(counts: (span: Span) => boolean): number {
    return this.spans.reduce((sum, span) => (counts(span) ? sum + span.end - span.start : sum), 0);
  }

  #isInside(index: number, kind: Span['kind']): boolean {
    for (let i = index; i >= 0; i = this.spans[i]!.parent) {
      if (this.spans[i]!.kind === kind) return true;
    }
    return false;
  }
}

function summary(copies: readonly Span[]): CopySummary {
  return {
    calls: copies.length,
    bytes: copies.reduce((sum, { bytes }) => sum + bytes, 0),
    total: copies.reduce((sum, { start, end }) => sum + end - start, 0),
  };
}
