import { type SpanStart, spans } from './spans.ts';

/** Runs a synchronous copy as a span. */
export function copying<T>(from: string, to: string, bytes: number, body: () => T): T {
  return spans.active ? spans.around(copySpan(from, to, bytes, 'Sync'), body) : body();
}

/** Records a copy to the host that completes later as an asynchronous span. */
export function copyingAsync<T>(from: string, bytes: number, body: () => Promise<T>): Promise<T> {
  return spans.active ? spans.aroundAsync(copySpan(from, 'host', bytes, 'Async'), body) : body();
}

function copySpan(from: string, to: string, bytes: number, mode: 'Sync' | 'Async'): SpanStart {
  return { kind: 'copy', name: `Memcpy${mode}:${from}->${to}`, device: 'host', bytes };
}
