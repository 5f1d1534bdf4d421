/** Attention by tiles: the bits of eager execution, no scores in memory, and bytes as predicted. */

import { describe, expect, it } from 'vitest';
import {
  type AttentionOptions,
  deviceGuard,
  matmul,
  scaledDotProductAttention,
  seed,
  softmax,
  type Tensor,
  tidy,
} from '../../../runtime/index.ts';
import { appliedTo } from '../../../src/explain/applied.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectClose, expectSameKernels } from '../parity.ts';
import { numbers, whole } from './checked.ts';

type Operands = readonly [query: Tensor, key: Tensor, value: Tensor, ...masks: Tensor[]];

interface Case {
  readonly operands: () => Operands;
  readonly attend: (...given: Operands) => Tensor;
  /** Products of at most 8 rows or columns, or of few long sums, which threads share where they are ops of their own. */
  readonly isThin?: true;
}

const plain =
  (options: AttentionOptions = {}) =>
  (...[q, k, v, mask]: Operands) =>
    scaledDotProductAttention(q, k, v, { ...options, ...(mask && { attnMask: mask }) });

/** Queries, keys and values of so many heads. */
const heads =
  (lead: readonly number[], [l, s, e, f]: readonly [number, number, number, number]) =>
  (): [Tensor, Tensor, Tensor] => [
    numbers([...lead, l, e], 1),
    numbers([...lead, s, e], 2),
    numbers([...lead, s, f], 3),
  ];

/** Heads that lie within rows of features, as in a transformer. */
const ofFeatures = (l: number, s: number) => (): [Tensor, Tensor, Tensor] => {
  const split = (length: number, salt: number) =>
    numbers([2, length, 3 * 12], salt)
      .reshape([2, length, 3, 12])
      .transpose(1, 2);
  return [split(l, 4), split(s, 5), split(s, 6)];
};

const cases: Readonly<Record<string, Case>> = {
  'one query': { operands: heads([2, 3], [1, 37, 12, 12]), attend: plain(), isThin: true },
  'one key': { operands: heads([2], [9, 1, 4, 4]), attend: plain(), isThin: true },
  'fewer queries and keys than a tile': {
    operands: heads([2, 3], [5, 20, 12, 12]),
    attend: plain(),
    isThin: true,
  },
  'a tile of each': { operands: heads([2], [32, 32, 16, 16]), attend: plain() },
  'no multiples of tiles': { operands: heads([3], [41, 77, 19, 13]), attend: plain() },
  'three dimensions of batches': { operands: heads([2, 1, 2], [33, 40, 12, 12]), attend: plain() },
  'heads of one element': { operands: heads([2], [35, 33, 1, 1]), attend: plain(), isThin: true },
  'heads of 128 elements': {
    operands: heads([1], [40, 34, 128, 128]),
    attend: plain(),
    isThin: true,
  },
  'rows of 128 keys and more': {
    operands: heads([1], [40, 200, 12, 12]),
    attend: plain(),
    isThin: true,
  },
  'rows of 1024 keys and more': {
    operands: heads([1], [9, 1100, 12, 12]),
    attend: plain(),
    isThin: true,
  },
  causal: { operands: heads([2, 2], [45, 45, 12, 12]), attend: plain({ isCausal: true }) },
  'a scale': { operands: heads([2], [33, 40, 12, 12]), attend: plain({ scale: 0.7 }) },
  'a mask of numbers for all heads': {
    operands: () => [...heads([2, 3], [34, 40, 12, 12])(), numbers([2, 1, 34, 40], 7)],
    attend: plain(),
  },
  'a mask of truth values': {
    operands: () => [...heads([2, 3], [34, 40, 12, 12])(), whole([34, 40], 0, 3, 8).gt(0)],
    attend: plain(),
  },
  'rows that are masked out as a whole': {
    operands: () => [...heads([2], [34, 40, 12, 12])(), whole([2, 34, 1], 0, 2, 9).gt(0)],
    attend: plain(),
  },
  'transposed heads': { operands: ofFeatures(36, 50), attend: plain({ isCausal: false }) },
  'by hand': {
    operands: heads([2], [34, 40, 12, 12]),
    attend: (q, k, v) =>
      matmul(softmax(matmul(q, k.transpose(1, 2)).mul(0.3).add(0.1).tanh()).mul(2), v),
  },
  'a result that is transposed': {
    operands: heads([2], [34, 40, 12, 12]),
    attend: (q, k, v) =>
      matmul(v.transpose(1, 2), softmax(matmul(q, k.transpose(1, 2))).transpose(1, 2)),
  },
  'no batches': { operands: heads([], [34, 40, 12, 12]), attend: plain() },
  'one head for all queries': {
    operands: () => [
      numbers([2, 3, 34, 12], 1),
      numbers([2, 1, 40, 12], 2),
      numbers([1, 1, 40, 12], 3),
    ],
    attend: plain(),
  },
  dropout: { operands: heads([2, 3], [34, 40, 12, 12]), attend: plain({ dropoutP: 0.3 }) },
};

/** Those whose gradients have kernels of their own: each takes seconds to build on a software adapter. */
const trainedCases = [
  'no multiples of tiles',
  'transposed heads',
  'a result that is transposed',
  'dropout',
];

describe.skipIf(skipGpu)('gpu/wgsl/attention', () => {
  const gpu = gpuForTests();

  /** The results of a function on new operands, and the operands' gradients, on a device. */
  const on = (device: Parameters<typeof deviceGuard>[0], { operands }: Case) =>
    deviceGuard(device, () => tidy(operands).map((t) => t.detach()) as unknown as Operands);
  /** The bits of the ops one by one, but for the order of shared sums. */
  const expectSame = (
    { isThin }: Case,
    found: readonly ArrayLike<number>[],
    eager: readonly ArrayLike<number>[],
  ) => {
    if (!isThin) expectSameKernels(gpu(), found, eager);
    else for (const [i, data] of found.entries()) expectClose(data, eager[i]!, { absolute: 1e-5 });
  };
  const read = (found: readonly Tensor[]) => Promise.all(found.map((t) => t.data()));

  it.each(Object.keys(cases))('%s: forward', async (name) => {
    const each = cases[name]!;
    const { attend } = each;
    seed(3);
    const cpu = await read([attend(...on('cpu', each))]);
    const given = on(gpu(), each);
    seed(3);
    const [eager] = await read([attend(...given)]);
    expectClose(eager!, cpu[0]!, { relative: 1e-5, absolute: 1e-6 });
    const peaks = [];
    for (const tileAttention of [true, false]) {
      const captured = toStatic(attend, { passes: { tileAttention }, memory: { prefer: 'bytes' } });
      captured(...given).dispose();
      const { counter } = gpu().allocator;
      const before = counter.allocated;
      counter.reset();
      seed(3);
      const found = captured(...given);
      const { peakBytes } = captured.programs()[0]!.stages!.planned.forward.predicted;
      expect(counter.peakAllocated - before).toBe(peakBytes);
      expectSame(each, await read([found]), [eager!]);
      expect(appliedTo(captured.programs()[0]!)!.tileAttention).toBe(tileAttention ? 1 : 0);
      peaks.push(peakBytes);
    }
    expect(peaks[0]).toBeLessThan(peaks[1]!);
  });

  /** A step that returns what it attended to, and the gradients of all three. */
  const trained =
    ({ attend }: Case) =>
    (...given: Operands) => {
      const [q, k, v] = given;
      const found = attend(...given);
      found.mul(found).sum().backward();
      const gradients = [q, k, v].map((t) => t.grad!);
      for (const t of [q, k, v]) t.grad = null;
      return [found.detach(), ...gradients];
    };

  it.each(trainedCases)('%s: a training step', async (name) => {
    const each = cases[name]!;
    const step = trained(each);
    const needing = (device: Parameters<typeof deviceGuard>[0]) => {
      const given = on(device, each);
      for (const t of given.slice(0, 3)) t.requiresGrad_();
      return given;
    };
    seed(3);
    const cpu = await read(step(...needing('cpu')));
    const given = needing(gpu());
    seed(3);
    const eager = await read(step(...given));
    for (const [i, data] of cpu.entries()) {
      expectClose(eager[i]!, data, { relative: 1e-5, absolute: 1e-5 });
    }
    const peaks = [];
    for (const tileAttention of [true, false]) {
      const captured = toStatic(step, { passes: { tileAttention }, memory: { prefer: 'bytes' } });
      for (const t of captured(...given)) t.dispose();
      const { counter } = gpu().allocator;
      const before = counter.allocated;
      counter.reset();
      seed(3);
      const found = captured(...given);
      const { peakBytes } = captured.programs()[0]!.stages!.planned.forward.predicted;
      expect(counter.peakAllocated - before).toBe(peakBytes);
      expectSame(each, await read(found), eager);
      for (const t of found) t.dispose();
      expect(appliedTo(captured.programs()[0]!)!.tileAttention).toBe(tileAttention ? 2 : 0);
      peaks.push(peakBytes);
    }
    expect(peaks[0]).toBeLessThan(peaks[1]!);
  });

  it('another size of the same class compiles nothing', async () => {
    const attend = plain();
    const compiled = [];
    for (const sizes of [
      [41, 77, 19, 13],
      [64, 64, 20, 16],
      [33, 127, 24, 9],
      [100, 40, 5, 12],
      [257, 100, 32, 10],
    ] as const) {
      const given = on(gpu(), { operands: heads([2, 2], sizes), attend });
      const [eager] = await read([attend(...given)]);
      const before = gpu().kernelStats.compiled;
      const found = toStatic(attend, { memory: { prefer: 'bytes' } })(...given);
      expectSame({ attend, operands: () => given }, await read([found]), [eager!]);
      compiled.push(gpu().kernelStats.compiled - before);
    }
    expect(compiled.slice(1)).toEqual([0, 0, 0, 0]);
  });

  it('forward and backward of their own, in check mode: scores are not saved', async () => {
    const each = cases['no multiples of tiles']!;
    const saved = [];
    const gradients = [];
    for (const tileAttention of [true, false]) {
      const given = on(gpu(), each);
      for (const t of given) t.requiresGrad_();
      const captured = toStatic(each.attend, {
        passes: { tileAttention, recomputeScores: tileAttention },
        memory: { prefer: 'bytes' },
        check: 1,
      });
      captured(...given)
        .sum()
        .backward();
      await captured.checked();
      expect(captured.stats().checks).toEqual({ runs: 1, backwards: 1 });
      const part = captured.programs()[0]!;
      expect(appliedTo(part)!.tileAttention).toBe(tileAttention ? 2 : 0);
      saved.push(part.stages!.planned.forward.predicted.savedBytes);
      gradients.push(await read(given.map((t) => t.grad!)));
    }
    expectSame(each, gradients[0]!, gradients[1]!);
    const scores = 3 * 41 * 77 * 4;
    expect(saved[1]! - saved[0]!).toBeGreaterThanOrEqual(scores);
  });
});
