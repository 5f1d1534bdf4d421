import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, oneOf } from '../options/option-kinds.ts';
import { chromeTrace, type TraceEvent } from './chrome-trace.ts';
import { type DeviceTimeRow, deviceTimeRows } from './device-times.ts';
import type { KernelTime, Span } from './recorder.ts';
import { printReport } from './report.ts';
import { type ProfileRow, rowsOf, type SortKey, sortKeys } from './rows.ts';

export interface ReportOptions {
  /** The column by which the rows are sorted, largest first; `total` by default. */
  readonly sort?: SortKey;
  /** How many rows are printed; 30 by default. */
  readonly limit?: number;
}

const reportKinds: OptionKinds<ReportOptions> = { sort: oneOf(...sortKeys), limit: count(0) };

/** Bytes between the host and devices. */
export interface CopySummary {
  readonly calls: number;
  readonly bytes: number;
  /** Milliseconds. */
  readonly total: number;
}

/** Where the time of a recording went. Times are milliseconds of the host clock. */
export class Profile {
  readonly spans: readonly Span[];
  /** From start to stop. */
  readonly duration: number;
  /** Devices that were worked on, in the order of their first use. */
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

  /** In kernels. A device that computes later counts with the time that it takes to issue them. */
  get computation(): number {
    return this.#sum(({ kind }) => kind === 'kernel');
  }

  /** Tracing and compiling of captured functions. */
  get compiling(): number {
    return this.#sum(
      ({ kind, parent }) => kind === 'compile' && !this.#isInside(parent, 'compile'),
    );
  }

  /** Copies that were waited for, and those that were not. */
  get copies(): { readonly sync: CopySummary; readonly async: CopySummary } {
    const copies = this.spans.filter(({ kind }) => kind === 'copy');
    return {
      sync: summary(copies.filter(({ isAsync }) => !isAsync)),
      async: summary(copies.filter(({ isAsync }) => isAsync)),
    };
  }

  /** Everything else between the first span and the last: this package's work and the user's own code. */
  get overhead(): number {
    const known = this.computation + this.compiling + this.copies.sync.total;
    return Math.max(0, this.duration - known);
  }

  /** One row per name, with copies and kernels nested under what caused them. */
  rows(sort: SortKey = 'total'): readonly ProfileRow[] {
    return rowsOf(this.spans, this.duration, sort);
  }

  /**
   * Returns the kernels' times by the clock of their device, a row per op, the longest first: of a GPU over WebGPU
   * whose adapter has `timestamp-query`; empty elsewhere. Waits until the device has computed what was issued in the
   * recording.
   */
  async deviceTimes(): Promise<readonly DeviceTimeRow[]> {
    return deviceTimeRows(await Promise.all(this.#timed));
  }

  /** Totals and table as text. */
  report(options: ReportOptions = {}): string {
    expectOptions('report', options, reportKinds);
    return printReport(this, options);
  }

  /** For the viewers of the Trace Event Format: chrome://tracing, ui.perfetto.dev. */
  trace(): { readonly traceEvents: readonly TraceEvent[] } {
    return chromeTrace(this.spans);
  }

  toString(): string {
    return this.report();
  }

  /** Plain data. */
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
