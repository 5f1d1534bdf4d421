import { describe, expect, it } from 'vitest';
import { findProblems, measured, type Results } from '../../examples/mnist/compare.ts';
import type { StrategyName } from '../../examples/mnist/strategies.ts';
import type { TrainingResult } from '../../examples/mnist/train.ts';
import { timelineOf } from '../lab/timelines.ts';

const backward = [['add', 64] as const, ['expGrad', -320] as const];
const timeline = timelineOf({ forward: [['exp', 256]], backward }, 1024);

const good: TrainingResult = {
  losses: [2.25, 1.5, 0.75],
  accuracy: 0.98,
  peakAllocated: 2048,
  peakReserved: 4096,
  allocations: 1,
  frees: 1,
  timeline,
  promised: null,
  stepTime: 1,
  problems: [],
};

function resultsWith(
  changes: Partial<Record<StrategyName, Partial<TrainingResult>>> = {},
): Results {
  return new Map<StrategyName, TrainingResult>([
    ['refcount', { ...good, ...changes.refcount }],
    ['tidy', { ...good, ...changes.tidy }],
    [
      'static',
      {
        ...good,
        peakAllocated: 2000,
        promised: { kept: 256, forwardPeak: 256, backwardPeak: 64 },
        ...changes.static,
      },
    ],
  ]);
}

const all = { accuracy: true, lowerPeak: true };

describe('comparison of the strategies', () => {
  it('finds nothing wrong where all claims hold', () => {
    expect(findProblems(resultsWith(), all)).toEqual([]);
  });

  it('counts what forward keeps, and the peaks', () => {
    const forward = [['exp', 256] as const, ['add', 512] as const, ['add', -512] as const];
    const peaking = timelineOf({ forward, backward }, 1024);
    const figures = { kept: 256, forwardPeak: 768, backwardPeak: 64 };
    expect(measured({ ...good, timeline: peaking })).toEqual(figures);
  });

  it('names the first step whose losses differ in the last bit, with both', () => {
    const losses = [2.25, 1.5000000000000002, 0.8];
    expect(findProblems(resultsWith({ static: { losses } }), all)).toEqual([
      'losses differ at step 2: 1.5 (eager (refcount)), 1.5000000000000002 (toStatic)',
    ]);
  });

  it('sees losses that are missing, and takes NaN for equal to NaN', () => {
    const [problem] = findProblems(resultsWith({ tidy: { losses: [2.25, 1.5] } }), all);
    expect(problem).toBe(
      'losses differ at step 3: 0.75 (eager (refcount)), undefined (eager (tidy))',
    );
    const losses = [Number.NaN];
    const diverged = { refcount: { losses }, tidy: { losses }, static: { losses } };
    expect(findProblems(resultsWith(diverged), all)).toEqual([]);
  });

  it('compares with what was predicted', () => {
    const promised = { kept: 192, forwardPeak: 320, backwardPeak: 0 };
    expect(findProblems(resultsWith({ static: { promised } }), all)).toEqual([
      'toStatic: kept for backward: 256 bytes, predicted were 192',
      "toStatic: forward's peak: 256 bytes, predicted were 320",
      "toStatic: backward's peak: 64 bytes, predicted were 0",
    ]);
  });

  it('asks for a lower peak at the models own batch size, elsewhere for none that is higher', () => {
    const equal = resultsWith({ static: { peakAllocated: 2048 } });
    expect(findProblems(equal, all)).toHaveLength(1);
    expect(findProblems(equal, { ...all, lowerPeak: false })).toEqual([]);
    const higher = resultsWith({ static: { peakAllocated: 2049 } });
    expect(findProblems(higher, { ...all, lowerPeak: false })).toEqual([
      'the peak of toStatic, 2049 bytes, is not below that of eager (refcount), 2048 bytes',
    ]);
  });

  it('asks for 97 % on all images only', () => {
    const weak = resultsWith({ tidy: { accuracy: 0.9699 } });
    expect(findProblems(weak, all)).toEqual(['eager (tidy): test accuracy 96.99 % is below 97 %']);
    expect(findProblems(weak, { ...all, accuracy: false })).toEqual([]);
  });

  it('passes on what a training found', () => {
    const left = resultsWith({ refcount: { problems: ['64 bytes are left'] } });
    expect(findProblems(left, all)).toEqual(['eager (refcount): 64 bytes are left']);
  });
});
