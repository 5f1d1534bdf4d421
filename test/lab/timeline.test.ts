import { describe, expect, it } from 'vitest';
import type { MemoryEvent } from '../../runtime/memory/events.ts';
import { deviceNamed, memory, relu, tensor } from '../../src/index.ts';
import { foldTimeline, recordTimeline, type TimedEvent } from '../../src/lab/timeline.ts';

type Change = readonly [bytes: number, op: string];

/** Events one millisecond apart, from 100 ms on; a string is a mark. */
function streamOf(items: readonly (Change | string)[], before: number): TimedEvent[] {
  let allocated = before;
  return items.map((item, i) => {
    const at = 100 + i;
    if (typeof item === 'string') return { at, event: { kind: 'mark', label: item } };
    const [change, op] = item;
    allocated += change;
    const kind = change < 0 ? 'free' : 'alloc';
    const bytes = Math.abs(change);
    return { at, event: { kind, device: 'cpu', ptr: 64, bytes, allocated, op } };
  });
}

function fold(items: readonly (Change | string)[], before = 1000) {
  const recording = { device: 'cpu', allocatedBefore: before, start: 100, end: 200 };
  return foldTimeline(streamOf(items, before), recording);
}

describe('timeline', () => {
  it('has one point per allocation and release, with the op that ran', () => {
    const { points, peak, duration } = fold([
      [64, 'exp'],
      [128, 'matmul'],
      [-64, 'matmul'],
    ]);
    expect(points).toEqual([
      { at: 0, allocated: 1064, change: 64, op: 'exp' },
      { at: 1, allocated: 1192, change: 128, op: 'matmul' },
      { at: 2, allocated: 1128, change: -64, op: 'matmul' },
    ]);
    expect(peak).toBe(1192);
    expect(duration).toBe(100);
  });

  it('counts a release between two ops to the one that ran last, within its phase', () => {
    const { points } = fold(['forward', [64, 'exp'], [-64, ''], 'update', [-64, '']]);
    expect(points.map(({ op }) => op)).toEqual(['exp', 'exp', '']);
  });

  it('cuts phases at the marks', () => {
    const { phases } = fold(['forward', [64, 'exp'], [64, 'log'], 'backward', [-128, 'logGrad']]);
    expect(phases).toEqual([
      {
        label: 'forward',
        from: 0,
        until: 3,
        firstPoint: 0,
        endPoint: 2,
        allocatedBefore: 1000,
        peak: 1128,
      },
      {
        label: 'backward',
        from: 3,
        until: 100,
        firstPoint: 2,
        endPoint: 3,
        allocatedBefore: 1128,
        peak: 1128,
      },
    ]);
  });

  it('takes only the marks it is told to as phases', () => {
    const stream = streamOf(['forward', 'START SOT_CALL_1', [64, 'exp'], 'other', [-64, '']], 0);
    const recording = { device: 'cpu', allocatedBefore: 0, start: 100, end: 200 };
    const timeline = foldTimeline(stream, { ...recording, phases: ['forward', 'other'] });
    expect(timeline.phases.map(({ label, peak }) => [label, peak])).toEqual([
      ['forward', 64],
      ['other', 64],
    ]);
    expect(timeline.points.map(({ op }) => op)).toEqual(['exp', '']);
  });

  it('starts from what was allocated before when nothing happens', () => {
    const { points, phases, peak } = fold(['forward'], 4096);
    expect(points).toEqual([]);
    expect(peak).toBe(4096);
    expect(phases[0]).toMatchObject({ allocatedBefore: 4096, peak: 4096, endPoint: 0 });
  });

  it('leaves out other devices and other events', () => {
    const others: MemoryEvent[] = [
      { kind: 'reserve', device: 'cpu', bytes: 64, reserved: 64 },
      { kind: 'kernel', device: 'cpu', op: 'exp' },
      { kind: 'copy', from: 'cpu', to: 'meta', bytes: 64, op: 'to' },
      { kind: 'alloc', device: 'meta', ptr: 0, bytes: 64, allocated: 64, op: 'exp' },
    ];
    const timed = others.map((event) => ({ at: 0, event }));
    const recording = { device: 'cpu', allocatedBefore: 0, start: 0, end: 1 };
    expect(foldTimeline(timed, recording).points).toEqual([]);
  });

  it('records what a function does to a device', () => {
    using x = tensor([-1, 2]);
    const { result, timeline } = recordTimeline(deviceNamed('cpu'), () => {
      memory.mark('forward');
      return relu(x);
    });
    expect([...result.dataSync()]).toEqual([0, 2]);
    expect(timeline.points).toMatchObject([{ change: 64, op: 'relu' }]);
    expect(timeline.points[0]!.allocated).toBe(timeline.allocatedBefore + 64);
    expect(timeline.phases).toMatchObject([{ label: 'forward', firstPoint: 0, endPoint: 1 }]);
    result.dispose();
  });

  it('stops recording after an exception', () => {
    const fail = () => {
      throw new RangeError('no');
    };
    expect(() => recordTimeline(deviceNamed('cpu'), fail)).toThrow(RangeError);
    expect(memory.record(() => memory.mark('later')).events).toHaveLength(1);
  });
});
