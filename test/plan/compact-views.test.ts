/** Backward keeps copies of views where the memory that they show is larger: never more than a preset, to the last bit. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workload as transformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as cswin } from '../../examples/workloads/cswin.ts';
import { workload as lstm } from '../../examples/workloads/lstm.ts';
import {
  breakGraph,
  deviceGuard,
  grad,
  type MemoryChoice,
  matmul,
  memory,
  memoryPresets,
  refcounted,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import type { Workload } from '../../src/lab/compare/workload.ts';
import { runs } from '../generated/runs.ts';
import { values } from '../trace/same-as-eager.ts';

type Loss = (x: Tensor, w: Tensor) => Tensor;

/** What one of the parts goes through: the graph breaks before it, or doesn't. */
interface Part {
  readonly breaks: boolean;
  readonly transposed: boolean;
  readonly op: 'exp' | 'square' | 'matmul' | 'scale' | 'narrow';
}

interface Split {
  readonly dim: 0 | 1 | 2;
  readonly parts: readonly Part[];
}

const part: fc.Arbitrary<Part> = fc.record({
  breaks: fc.boolean(),
  transposed: fc.boolean(),
  op: fc.constantFrom('exp', 'square', 'matmul', 'scale', 'narrow'),
});

const splits: fc.Arbitrary<Split> = fc.record({
  dim: fc.constantFrom(0, 1, 2),
  parts: fc.array(part, { minLength: 2, maxLength: 4 }),
});

const shape = [4, 8, 12];

/** Several parts of one product, each read by ops whose gradients need it, or only its shape. */
function lossOf({ dim, parts }: Split): Loss {
  return (x, w) => {
    const whole = x.mul(w);
    breakGraph();
    const size = Math.floor(shape[dim]! / 4);
    let loss: Tensor | undefined;
    for (let i = 0; i < parts.length; i++) {
      const { breaks, transposed, op } = parts[i]!;
      const own = whole.narrow(dim, i * size, size);
      if (breaks) breakGraph();
      const y = transposed ? own.transpose(0, 2) : own;
      let made = y.mul(3);
      if (op === 'exp') made = y.exp();
      if (op === 'square') made = y.mul(y);
      if (op === 'matmul') made = matmul(y, y.transpose(1, 2));
      if (op === 'narrow') made = y.narrow(1, 0, 1).mul(y.narrow(1, 0, 1));
      const sum = made.sum();
      loss = loss ? loss.add(sum) : sum;
    }
    return loss!;
  };
}

interface Outcome {
  readonly kept: number;
  readonly peak: number;
  readonly bits: readonly number[][];
}

/** The third step: what the first has shown is in force. */
function outcomeOf(run: Loss): Outcome {
  let outcome: Outcome | undefined;
  for (let call = 0; call < 3; call++) {
    tidy(() => {
      const x = values(shape, 1);
      const w = values(shape, 2).requiresGrad_();
      memory.reset('cpu');
      const before = memory.stats('cpu').allocated;
      const loss = run(x, w);
      const kept = memory.stats('cpu').allocated - before;
      loss.backward();
      const peak = memory.stats('cpu').peakAllocated - before;
      outcome = { kept, peak, bits: [[...loss.dataSync()], [...w.grad!.dataSync()]] };
      w.grad!.dispose();
    });
  }
  return outcome!;
}

const presets = Object.keys(memoryPresets) as (keyof typeof memoryPresets)[];

describe('plan/compact-views', () => {
  it('generated programs with breaks need no more than with any preset, and compute the same', () => {
    const property = fc.property(splits, (split) => {
      const loss = lossOf(split);
      const eager = outcomeOf(refcounted(loss));
      const usual = outcomeOf(toStatic(loss));
      expect(usual.bits).toEqual(eager.bits);
      for (const preset of presets) {
        const other = outcomeOf(toStatic(loss, { memory: preset }));
        expect(other.bits).toEqual(eager.bits);
        expect(usual.peak, preset).toBeLessThanOrEqual(other.peak);
      }
    });
    fc.assert(property, runs(6));
  });

  const halves: Loss = (x, w) => {
    const whole = x.mul(w);
    breakGraph();
    const first = whole.narrow(1, 0, 2);
    const loss = first.mul(first).sum();
    breakGraph();
    return loss.add(matmul(w.exp(), w.sigmoid().transpose(1, 2)).exp().sum());
  };

  it('the copy is kept from the second call on, and the switch leaves the whole value', () => {
    const whole = 4 * 8 * 12 * 4;
    const keptBy = (choice: MemoryChoice) => {
      const f = toStatic(halves, { memory: choice });
      return [1, 2].map(() => {
        const [x, w] = [values(shape, 1), values(shape, 2).requiresGrad_()];
        const before = memory.stats('cpu').allocated;
        const loss = f(x, w);
        const kept = memory.stats('cpu').allocated - before;
        for (const each of [loss, x, w]) each.dispose();
        return kept;
      });
    };
    const [all] = keptBy({ compactViews: false });
    expect(keptBy({ compactViews: false })).toEqual([all, all]);
    expect(keptBy({})).toEqual([all, all! - (whole * 3) / 4]);
  });

  it('the prediction of each program counts the copy', () => {
    const f = toStatic(halves);
    const [x, w] = [values(shape, 1), values(shape, 2).requiresGrad_()];
    for (let i = 0; i < 3; i++) f(x, w).dispose();
    const [, second] = f.programs();
    expect(second!.record.planned!.compacted).toHaveLength(1);
    expect(second!.record.peakBytes).toBe(second!.record.planned!.forward.predicted.peakBytes);
    for (const each of [x, w]) each.dispose();
  });

  it('gradients of gradients are those of eager execution', () => {
    const second = (run: Loss) =>
      [1, 2, 3].map(() =>
        tidy(() => {
          const [x, w] = [values(shape, 1), values(shape, 2).requiresGrad_()];
          const [first] = grad(run(x, w).pow(2), [w], { createGraph: true });
          const [again] = grad(first!.pow(2).sum(), [w]);
          return [[...first!.dataSync()], [...again!.dataSync()]];
        }),
      );
    expect(second(toStatic(halves))).toEqual(second(halves));
  });

  it('what is written after it was kept is refused as in eager execution', () => {
    const written: Loss = (x, w) => {
      const whole = x.mul(w);
      breakGraph();
      const first = whole.narrow(1, 0, 2);
      const loss = first.mul(first).sum();
      breakGraph();
      whole.mul_(2);
      return loss;
    };
    const messages = (run: Loss) =>
      [1, 2, 3].map(() =>
        tidy(() => {
          const [x, w] = [values(shape, 1), values(shape, 2).requiresGrad_()];
          try {
            run(x, w).backward();
          } catch (error) {
            return String(error);
          }
          return 'nothing was thrown';
        }),
      );
    expect(messages(toStatic(written))).toEqual(messages(written));
  });

  it.each([
    ['conv-net', convNet],
    ['lstm', lstm],
    ['char-transformer', transformer],
    ['cswin', cswin],
  ] as const)('%s with forced breaks needs no more than with a preset', (_, workload) => {
    const usual = stepPeak(workload, {});
    // The others keep what this one does, and more.
    expect(usual).toBeLessThanOrEqual(stepPeak(workload, 'cleaned'));
  });
});

function stepPeak(workload: Workload, choice: MemoryChoice): number {
  return deviceGuard('meta', () => {
    const before = memory.stats('meta').allocated;
    const built = workload.build({ device: 'meta', size: 'reduced', breaks: true });
    const batch = built.inputs(0);
    const loss = toStatic(built.loss, { memory: choice });
    for (let i = 0; i < 3; i++) {
      memory.reset('meta');
      const value = loss(...batch);
      value.backward();
      built.optimizer.step();
      built.optimizer.zeroGrad();
      value.dispose();
      void loss.ready();
    }
    const { peakAllocated } = memory.stats('meta');
    for (const tensor of batch) tensor.dispose();
    built.dispose();
    return peakAllocated - before;
  });
}
