import { formatPosition } from '../errors/position.ts';
import type { Span } from './recorder.ts';

/** An entry of the Trace Event Format (Google, "Trace Event Format", 2016); times are microseconds. */
export interface TraceEvent {
  readonly name: string;
  readonly cat: string;
  /** `X`: a complete span. `b`, `e`: begin and end of an asynchronous one. `M`: names a track. */
  readonly ph: 'X' | 'b' | 'e' | 'M';
  readonly ts?: number;
  readonly dur?: number;
  readonly pid: number;
  readonly tid: number;
  readonly id?: number;
  readonly args?: Readonly<Record<string, string | number>>;
}

const track = { pid: 1, tid: 1 } as const;

/** Converts spans to trace events: synchronous ones nested on one track, asynchronous ones on separate tracks. */
export function chromeTrace(spans: readonly Span[]): { traceEvents: TraceEvent[] } {
  const named = [
    { name: 'process_name', args: { name: 'tostatic' } },
    { name: 'thread_name', args: { name: 'host' } },
  ].map((each) => ({ ...each, cat: '__metadata', ph: 'M' as const, ...track }));
  return { traceEvents: [...named, ...spans.flatMap(eventsOf)] };
}

function eventsOf(span: Span, id: number): TraceEvent[] {
  const { kind: cat, name, start, end, isAsync } = span;
  const [ts, until] = [start * 1000, end * 1000];
  const args = argsOf(span);
  if (!isAsync) return [{ name, cat, ph: 'X', ts, dur: until - ts, ...track, args }];
  return [
    { name, cat, ph: 'b', ts, id, ...track, args },
    { name, cat, ph: 'e', ts: until, id, ...track },
  ];
}

function argsOf({ device, at, bytes, allocated }: Span): Record<string, string | number> {
  return {
    device,
    ...(at ? { at: formatPosition(at) } : {}),
    ...(bytes > 0 ? { bytes } : {}),
    ...(allocated > 0 ? { allocated } : {}),
  };
}
