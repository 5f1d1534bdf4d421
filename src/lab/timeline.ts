import { events, type MemoryEvent } from '../../runtime/memory/events.ts';

/** A memory event and its time in milliseconds. */
export interface TimedEvent {
  readonly at: number;
  readonly event: MemoryEvent;
}

/** One allocation or release on the device. */
interface TimelinePoint {
  /** Milliseconds since the start of the recording. */
  readonly at: number;
  /** Bytes allocated on the device after the event. */
  readonly allocated: number;
  /** Bytes that this event added, negative for a release. */
  readonly change: number;
  /**
   * The op that ran; for a release, the op after which the value was dead. Empty if no op has run since the phase
   * began.
   */
  readonly op: string;
}

/** A phase, from one mark in the event stream to the next. */
interface TimelinePhase {
  readonly label: string;
  readonly from: number;
  readonly until: number;
  /** Its points are points[firstPoint] to points[endPoint - 1]. */
  readonly firstPoint: number;
  readonly endPoint: number;
  /** Bytes allocated when it began, and the most during it. */
  readonly allocatedBefore: number;
  readonly peak: number;
}

/** The memory of one device during a recording. */
export interface Timeline {
  readonly device: string;
  readonly allocatedBefore: number;
  readonly points: readonly TimelinePoint[];
  readonly phases: readonly TimelinePhase[];
  readonly peak: number;
  /** Milliseconds. */
  readonly duration: number;
}

interface Recording {
  readonly device: string;
  readonly allocatedBefore: number;
  /** Start and end, on the clock of the events. */
  readonly start: number;
  readonly end: number;
  /** Labels of the marks that begin a phase; all by default. */
  readonly phases?: readonly string[] | undefined;
}

/** Folds the event stream into the events of one device, and the phases between marks. */
export function foldTimeline(timed: readonly TimedEvent[], recording: Recording): Timeline {
  const { device, allocatedBefore, start, end } = recording;
  const points: TimelinePoint[] = [];
  const marks: { label: string; at: number; point: number }[] = [];
  let lastOp = '';
  for (const { at: moment, event } of timed) {
    const at = moment - start;
    if (event.kind === 'mark' && (recording.phases?.includes(event.label) ?? true)) {
      marks.push({ label: event.label, at, point: points.length });
      lastOp = '';
    }
    if (event.kind !== 'alloc' && event.kind !== 'free') continue;
    if (event.device !== device) continue;
    const change = event.kind === 'alloc' ? event.bytes : -event.bytes;
    // A release between two ops by a handle's owner is attributed to the op before it.
    lastOp = event.op || lastOp;
    points.push({ at, allocated: event.allocated, change, op: lastOp });
  }
  const duration = end - start;
  const allocatedAt = (point: number) => points[point - 1]?.allocated ?? allocatedBefore;
  const phases = marks.map(({ label, at, point }, i): TimelinePhase => {
    const next = marks[i + 1] ?? { at: duration, point: points.length };
    return {
      label,
      from: at,
      until: next.at,
      firstPoint: point,
      endPoint: next.point,
      allocatedBefore: allocatedAt(point),
      peak: peakOf(points.slice(point, next.point), allocatedAt(point)),
    };
  });
  return {
    device,
    allocatedBefore,
    points,
    phases,
    peak: peakOf(points, allocatedBefore),
    duration,
  };
}

function peakOf(points: readonly TimelinePoint[], before: number): number {
  return points.reduce((peak, { allocated }) => Math.max(peak, allocated), before);
}

/** The device whose timeline is recorded, by name and by its running count. */
interface Recorded {
  readonly name: string;
  readonly allocator: { readonly counter: { readonly allocated: number } };
}

/**
 * Runs `body` and returns its result with the timeline of the device's memory. `phases`: labels of the marks that
 * begin a phase; all by default.
 */
export function recordTimeline<T>(
  device: Recorded,
  body: () => T,
  phases?: readonly string[],
): { result: T; timeline: Timeline } {
  const timed: TimedEvent[] = [];
  const allocatedBefore = device.allocator.counter.allocated;
  const stop = events.subscribe((event) => timed.push({ at: performance.now(), event }));
  const start = performance.now();
  try {
    const result = body();
    const end = performance.now();
    const recording = { device: device.name, allocatedBefore, start, end, phases };
    return { result, timeline: foldTimeline(timed, recording) };
  } finally {
    stop();
  }
}
