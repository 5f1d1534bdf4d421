/** Optimizer state in 8 bits: what the codes keep, what they cost, and that steps with them are ordinary steps. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuantizationCode } from '../../runtime/numerics/quantization.ts';
import { dequantize, quantize } from '../../runtime/ops/core/quantize.ts';
import {
  crossEntropy,
  memory,
  nn,
  noGrad,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const bytesNow = () => memory.stats('cpu').allocated;

/** The codes of the values, and the values of those. */
function coded(values: readonly number[], code: QuantizationCode) {
  return tidy(() => {
    const [codes, scales] = quantize(tensor(values), code);
    const back = dequantize(codes, scales, code);
    const [again] = quantize(back, code);
    return [codes, back, scales, again].map((each) => [...each.dataSync()]) as [
      ...[number[], number[], number[], number[]],
    ];
  });
}

describe('codes of 8 bits', () => {
  const codes = ['linear', 'signed', 'unsigned'] as const;
  const magnitudes = fc.double({ min: -9, max: 6, noNaN: true }).map((power) => 10 ** power);
  const lists = fc.array(fc.tuple(magnitudes, fc.boolean()), { minLength: 1, maxLength: 300 });

  it('are within half a step of every value, block by block', () => {
    fc.assert(
      fc.property(lists, fc.constantFrom(...codes), (given, code) => {
        const values = given.map(([size, isNegative]) =>
          Math.fround(isNegative && code !== 'unsigned' ? -size : size),
        );
        const [, back, scales] = coded(values, code);
        values.forEach((value, i) => {
          const block = values.slice(Math.floor(i / 128) * 128).slice(0, 128);
          const scale = Math.max(...block.map(Math.abs));
          expect(scales[Math.floor(i / 128)]).toBe(scale);
          // Dynamic codes: half a step of the value's decade, of which the topmost has the most; and near zero.
          const decade = Math.max(1e-7, 10 ** Math.ceil(Math.log10(Math.abs(value) / scale)));
          const exponent = Math.round(Math.log10(decade)) + 6;
          const steps = 2 ** (code === 'signed' ? exponent : exponent + 1);
          const bound = code === 'linear' ? scale / 254 : (0.9 * decade * scale) / steps;
          expect(Math.abs(back[i]! - value)).toBeLessThanOrEqual(bound * 1.02 + 4e-7 * scale);
        });
      }),
      { numRuns: 60 },
    );
  });

  it.each(codes)('%s: zeros stay zeros, codes stay codes, and nothing finite hides', (code) => {
    expect(coded([0, 0, 0], code)[1].map(Math.abs)).toEqual([0, 0, 0]);
    const ramp = Array.from({ length: 256 }, (_, i) => i / 64);
    const [first, , , again] = coded(ramp, code);
    expect(again).toEqual(first);
    for (const broken of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const [, back] = coded([...ramp.slice(0, 130), broken], code);
      expect(back.slice(0, 128).every(Number.isFinite)).toBe(true);
      expect(back.slice(128)).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    }
  });

  it('a square above zero stays above zero', () => {
    const [, back] = coded([1, 1e-20, 0], 'unsigned');
    expect(back[1]).toBeGreaterThan(0);
    expect(back[2]).toBe(0);
  });
});

type Step = (x: Tensor, y: Tensor) => Tensor;

const kinds = {
  Adam: (own: Iterable<Tensor>, stateBits: 8 | 32) => new optim.Adam(own, { lr: 0.01, stateBits }),
  'Adam with amsgrad': (own: Iterable<Tensor>, stateBits: 8 | 32) =>
    new optim.Adam(own, { lr: 0.01, amsgrad: true, stateBits }),
  AdamW: (own: Iterable<Tensor>, stateBits: 8 | 32) =>
    new optim.AdamW(own, { lr: 0.01, stateBits }),
};

function train(
  make: (parameters: Iterable<Tensor>) => optim.Adam,
  { steps, prepare }: { readonly steps: number; readonly prepare: (step: Step) => Step },
) {
  const before = bytesNow();
  seed(5);
  const model = new nn.Sequential(new nn.Linear(64, 96), new nn.Tanh(), new nn.Linear(96, 10));
  const [x, y] = [randn([64, 64]), tensor(Int32Array.from({ length: 64 }, (_, i) => i % 10))];
  const withoutState = bytesNow();
  const optimizer = make(model.parameters());
  const stateBytes = bytesNow() - withoutState;
  const run = prepare((a, b) => {
    const loss = crossEntropy(model.forward(a), b);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  const losses = Array.from({ length: steps }, () => {
    using loss = run(x, y);
    return loss.itemSync();
  });
  for (const own of [x, y, model, optimizer]) own.dispose();
  expect(bytesNow()).toBe(before);
  return { losses, stateBytes };
}

describe('steps with state in 8 bits', () => {
  it.each(Object.entries(kinds))('%s: captured as eager, and near to 32 bits', (_, make) => {
    const eager = {
      steps: 24,
      prepare:
        (step: Step): Step =>
        (a, b) =>
          tidy(() => step(a, b)),
    };
    const [wide, narrow] = [
      train((own) => make(own, 32), eager),
      train((own) => make(own, 8), eager),
    ];
    let measured = 0;
    let predicted = 0;
    const captured = train((own) => make(own, 8), {
      steps: 24,
      prepare: (step) => {
        const run = toStatic(step, { memory: { prefer: 'bytes' } });
        return (a, b) => {
          const held = bytesNow();
          memory.reset('cpu');
          const loss = run(a, b);
          measured = memory.stats('cpu').peakAllocated - held;
          predicted = run.programs()[0]!.stages!.planned.forward.predicted.peakBytes;
          return loss;
        };
      },
    });
    expect(captured).toEqual(narrow);
    expect(measured).toBe(predicted);
    expect(narrow.losses).not.toEqual(wide.losses);
    const last = [wide, narrow].map(({ losses }) => losses.at(-1)!);
    expect(last[0]).toBeLessThan(0.6 * wide.losses[0]!);
    expect(Math.abs(last[1]! - last[0]!)).toBeLessThan(0.02 * wide.losses[0]!);
    // A large weight in 8 bits, all else in 32.
    const states = _ === 'Adam with amsgrad' ? 3 : 2;
    const saved = states * (64 * 96 * 3 - (64 * 96 * 4) / 128);
    expect(wide.stateBytes - narrow.stateBytes).toBe(saved);
  });

  it('goes on from a state dict, which a state in 32 bits is not', () => {
    tidy(() => {
      seed(1);
      const [x, y] = [randn([70, 70]), randn([70, 70])].map((each) => each.requiresGrad_());
      const step = (own: Tensor, optimizer: optim.Adam, slope: number) => {
        tidy(() => own.mul(own).mul(slope).sum().backward());
        optimizer.step();
        optimizer.zeroGrad();
      };
      using first = new optim.AdamW([x!], { stateBits: 8 });
      for (const slope of [1, -3]) step(x!, first, slope);
      using second = new optim.AdamW([y!], { stateBits: 8 });
      second.loadStateDict(first.stateDict());
      noGrad(() => y!.copy_(x!));
      for (const slope of [2, 5]) {
        step(x!, first, slope);
        step(y!, second, slope);
      }
      expect([...y!.dataSync()]).toEqual([...x!.dataSync()]);
      using wide = new optim.AdamW([y!]);
      expect(() => wide.loadStateDict(first.stateDict())).toThrow(/other kinds of state/);
    });
  });
});
