/** `profiler`: measures the time of eager ops, programs and copies. */

import { ArgumentError } from '../errors/errors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { expectArguments } from '../options/expect-options.ts';
import { text } from '../options/option-kinds.ts';
import { Profile } from './profile.ts';
import { SpanRecorder } from './recorder.ts';
import { spans } from './spans.ts';

export type { TraceEvent } from './chrome-trace.ts';
export type { DeviceTimeRow } from './device-times.ts';
export { type CopySummary, Profile, type ReportOptions } from './profile.ts';
export type { ProfileRow, SortKey } from './profile-rows.ts';
export type { KernelTime, Span } from './recorder.ts';
export type { SpanKind } from './spans.ts';

/**
 * Starts recording until `stop`: each op and its kernel, program run, backward node, copy between JavaScript and
 * device, and compilation, by the host clock. Costs about a microsecond per op while recording, else the test of a
 * flag. Throws ArgumentError if a recording is in progress.
 */
export function start(): void {
  if (spans.active) {
    throw new ArgumentError({
      what: 'profiler: already recording',
      given: 'start() or profile() inside of another recording',
      expected: 'one recording at a time',
      remedy: 'call profiler.stop() first; name parts of one recording with profiler.span(name, …)',
    });
  }
  spans.sink = new SpanRecorder();
}

/** Ends the recording. Throws ArgumentError if there is none. */
export function stop(): Profile {
  const recorder = spans.sink;
  if (!(recorder instanceof SpanRecorder)) {
    throw new ArgumentError({
      what: 'profiler: nothing is recorded',
      given: 'stop() without start()',
      expected: 'a recording in progress',
      remedy: 'call profiler.start() first',
    });
  }
  spans.sink = null;
  const { spans: recorded, duration, timed } = recorder.stop();
  return new Profile(recorded, duration, timed);
}

/** The result of a function, and its profile. */
export interface Profiled<T> {
  readonly result: T;
  readonly profile: Profile;
}

/** Records while `body` runs, to completion if it is async. An exception discards the recording. */
export function profile<T>(body: () => Promise<T>): Promise<Profiled<T>>;
export function profile<T>(body: () => T): Profiled<T>;
export function profile<T>(body: () => T | Promise<T>): Profiled<T> | Promise<Profiled<T>> {
  expectFunction('profile', body);
  start();
  let result: T | Promise<T>;
  try {
    result = body();
  } catch (error) {
    stop();
    throw error;
  }
  if (!(result instanceof Promise)) return { result, profile: stop() };
  return result.then(
    (value) => ({ result: value, profile: stop() }),
    (error) => {
      stop();
      throw error;
    },
  );
}

/** Runs `body` as a named span with its own row; without a recording, just runs it. */
export function span<T>(name: string, body: () => T): T {
  expectArguments('span', { name }, { name: text });
  expectFunction('span', body);
  if (!spans.active) return body();
  const start = { kind: 'user', name, device: 'host' } as const;
  let pending: Promise<unknown> | undefined;
  const result = spans.around(start, () => {
    const value = body();
    if (value instanceof Promise) pending = value;
    return value;
  });
  if (pending) void spans.aroundAsync(start, () => pending!).catch(() => {});
  return result;
}
