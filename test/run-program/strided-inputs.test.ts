/** Every preset and every switch computes the bits of eager execution, however its inputs lie in memory. */

import { describe, expect, it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import {
  type MemoryChoice,
  memory,
  memoryPresets,
  randn,
  seed,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { memorySwitches } from '../../src/programs/memory-options.ts';

const layouts: Readonly<Record<string, () => Tensor>> = {
  'a transposed matrix': () => randn([5, 7]).transpose(0, 1),
  'a large transposed matrix': () => randn([65, 70]).transpose(0, 1),
  'permuted dimensions': () => randn([4, 5, 40]).permute([2, 0, 1]),
  'some columns': () => randn([20, 40]).narrow(1, 3, 30),
  'one column': () => randn([70, 3]).select(1, 1),
  'repeated rows': () => randn([1, 33]).expand([40, 33]),
  'part of a transposed matrix': () => randn([10, 40]).narrow(0, 1, 8).transpose(0, 1),
};

const functions: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'the sum of all': (x) => x.sum(),
  'sums along the first dimension': (x) => x.sum(0),
  'sums along the last dimension': (x) => x.sum(-1, { keepDim: true }),
  'sums of a view': (x) => x.transpose(0, -1).sum(0),
  'sums of a part': (x) => x.narrow(0, 1, 3).sum(),
  products: (x) => x.prod(0),
  'sums of squares': (x) => x.mul(x).sum(),
  'sums beside other reads': (x) => x.softmax(-1).mul(x).mean().add(x.mean(0)),
  variances: (x) =>
    x
      .sub(x.mean(0, { keepDim: true }))
      .mul(x)
      .sum(0),
};

const presets = Object.keys(memoryPresets) as (keyof typeof memoryPresets)[];

/** All presets, and some of the switches by themselves: every function takes the next ones. */
function choicesFor(index: number): MemoryChoice[] {
  const switches = [0, 1].map((i) => memorySwitches[(2 * index + i) % memorySwitches.length]!);
  return [...presets, ...switches.map((name) => ({ [name]: false }))];
}

interface Outcome {
  readonly values: number[];
  readonly gradient: number[];
}

function outcome(make: () => Tensor, fn: (x: Tensor) => Tensor, recorded: boolean): Outcome {
  return tidy(() => {
    seed(3);
    const x = make().requiresGrad_(recorded);
    const y = fn(x);
    if (recorded) y.mul(y).sum().backward();
    const gradient = x.grad ? [...x.grad.contiguous().dataSync()] : [];
    x.grad?.dispose();
    return { values: [...y.dataSync()] as number[], gradient: gradient as number[] };
  });
}

const cases = Object.entries(functions).map(([name, fn], i) => [name, fn, i] as const);

describe.each(Object.entries(layouts).map(([name, make], i) => [name, make, i] as const))(
  'run-program/strided inputs: %s',
  (_name, make, layout) => {
    it.each(cases)('%s', (_name, fn, index) => {
      withCaptureSession(() => {
        const eager = [false, true].map((recorded) => outcome(make, fn, recorded));
        for (const choice of choicesFor(layout * cases.length + index)) {
          const captured = toStatic((x: Tensor) => fn(x), { memory: choice });
          const own = [false, true].map((recorded) => outcome(make, captured, recorded));
          expect(own, JSON.stringify(choice)).toEqual(eager);
          for (const { record } of captured.programs()) {
            expect(record.peakBytes).toBe(record.planned!.forward.predicted.peakBytes);
          }
        }
      });
    });
  },
);

it('a copy takes the bytes of the input, also where it has its strides', () => {
  const peakOf = (fn: (x: Tensor) => Tensor, choice: MemoryChoice) => {
    using whole = randn([64, 32]);
    using x = whole.t();
    const captured = toStatic((t: Tensor) => fn(t), { memory: choice });
    captured(x).dispose();
    const start = memory.stats('cpu').allocated;
    memory.reset('cpu');
    captured(x).dispose();
    return memory.stats('cpu').peakAllocated - start;
  };
  const [copy, result] = [64 * 32 * 4, 64];
  const sum = (x: Tensor) => x.sum();
  const exp = (x: Tensor) => x.exp();
  expect(peakOf(sum, 'cleaned')).toBe(copy + result);
  expect(peakOf(sum, 'planned')).toBe(result);
  expect(peakOf(exp, 'cleaned')).toBe(2 * copy);
  expect(peakOf(exp, 'planned')).toBe(copy);
});
