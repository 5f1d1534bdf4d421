/** Searching for groups of ops to fuse does little: each op is looked at once, and a first plan searches once. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collapse } from '../../runtime/device/cpu/core/loops.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { isSymbolic } from '../../runtime/ops/numbers/symbolic-number.ts';
import { oneOp } from '../../runtime/program/fused/staged-op.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { broadcastStrides, contiguousStrides } from '../../runtime/spec/shape.ts';
import { fuseGroups } from '../../src/5-optimize/fuse/fuse-groups.ts';
import { findGroups, onceForEachOp } from '../../src/5-optimize/fuse/groups.ts';
import { innerLength } from '../../src/5-optimize/fuse/inner-length.ts';
import { oneOpAlike } from '../../src/5-optimize/fuse/known-groups.ts';
import { PointwiseRules } from '../../src/5-optimize/fuse/pointwise-groups.ts';
import { raisingGroups } from '../../src/5-optimize/fuse/raising-groups.ts';
import { nn, optim, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { memoryOptions } from '../../src/programs/memory-options.ts';
import { type PassRecord, passObservers } from '../../src/programs/pass-record.ts';

/** The program before it is fused: pointwise ops in two groups, with a product between them. */
function ordered(): Program {
  const weight = randn([8, 8]);
  const step = toStatic((x: Tensor) => x.mul(2).exp().matmul(weight).mul(3).exp().sum());
  const records: PassRecord[] = [];
  const unsubscribe = passObservers.subscribe((record) => {
    if (record.stage === 'ordered') records.push(record);
  });
  step(randn([8, 8])).dispose();
  unsubscribe();
  return records[0]!.before;
}

const everything = { fixed: new Set<never>(), sourcesOf: () => 0n };

it('an op is looked at once for all searches', () => {
  const program = ordered();
  const rules = new PointwiseRules(program.values);
  const seen: ProgramOp[] = [];
  const counting = {
    mostParts: rules.mostParts,
    mostOperands: rules.mostOperands,
    begin(op: ProgramOp) {
      seen.push(op);
      return rules.begin(op);
    },
    join: rules.join.bind(rules),
  };
  const once = onceForEachOp(counting);
  const found = [false, true].map((adjacent) =>
    findGroups(program, once, { ...everything, adjacent }),
  );
  expect(seen).toEqual(program.ops);
  const plain = [false, true].map((adjacent) =>
    findGroups(program, rules, { ...everything, adjacent }),
  );
  expect(found).toEqual(plain);
  expect(found[0]!.length).toBe(2);
});

describe('where the groups raise the peak', () => {
  const program = ordered();
  const searches = (isFirst: boolean): readonly boolean[] => {
    const seen: boolean[] = [];
    // Each group costs more than the program.
    const costOf = (each: Program) => (each === program ? 1 : 2);
    const context = { stage: 'ordered', memory: memoryOptions(), gradOutputs: 0 } as const;
    const done = fuseGroups(
      { program, firstLate: 0, alsoRead: [] },
      { ...context, costOf, isFirst },
      (options) => {
        seen.push(options.adjacent);
        return findGroups(program, new PointwiseRules(program.values), options);
      },
    );
    expect(done.program).toBe(program);
    return seen;
  };
  it('a first plan does without them', () => expect(searches(true)).toEqual([false]));
  it('a final plan searches adjacent ones', () => expect(searches(false)).toEqual([false, true]));
});

describe('groups that raise the peak', () => {
  it.each([
    [8, 16, 12],
    [32, 128, 32],
  ])(
    'nearly all others of an LSTM step %i → %i, %i steps, are fused at once',
    (size, hidden, steps) => {
      seed(1);
      const lstm = new nn.LSTM(size, hidden);
      const optimizer = new optim.SGD(lstm.parameters(), { lr: 0.1 });
      const step = toStatic((x: Tensor) => {
        lstm.forward(x)[0].square().mean().backward();
        optimizer.step();
        optimizer.zeroGrad();
      });
      const records: PassRecord[] = [];
      const unsubscribe = passObservers.subscribe((record) => {
        if (record.pass === 'fusePointwise') records.push(record);
      });
      tidy(() => step(randn([steps, 4, size])));
      unsubscribe();
      const [{ before, program }] = records as [PassRecord];
      const rules = new PointwiseRules(before.values);
      const found = findGroups(before, rules, { ...everything, adjacent: false });
      const fused = program.ops.filter(({ op }) => op.kernel.kind === 'fused');
      expect(found.length).toBeGreaterThan(steps);
      expect(fused.length).toBeGreaterThan(0.9 * found.length);
    },
  );

  it('are those that keep operands over the op that needs most', () => {
    const weight = randn([64, 64]);
    const step = toStatic((x: Tensor) => {
      const sides = x.exp().mul(x.sin());
      return sides.add(x.matmul(weight).matmul(weight));
    });
    const records: PassRecord[] = [];
    const unsubscribe = passObservers.subscribe((record) => {
      if (record.pass === 'fusePointwise') records.push(record);
    });
    step(randn([256, 64])).dispose();
    unsubscribe();
    const { ops, inputs, outputs } = records[0]!.before;
    const numberOf = (name: string) => ops.findIndex(({ op }) => op.name === name);
    // Both operands of `mul` would stay over the products, instead of its result.
    const raising = [numberOf('mul'), numberOf('add')];
    const harmless = [numberOf('exp'), numberOf('sin')].sort((a, b) => a - b);
    const estimated = raisingGroups(records[0]!.before, new Set(outputs), new Set(inputs));
    expect(estimated.without([harmless, raising], 0)).toEqual([harmless, raising]);
    expect(estimated.without([harmless, raising], 1)).toEqual([harmless]);
  });
});

it('operands that are laid out alike have the inner loop of one of them', () => {
  const dims = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 });
  const layouts = ['dense', 'transposed', 'broadcast', 'row'] as const;
  const kinds = fc.array(fc.constantFrom(...layouts), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(dims, kinds, (shape, chosen) => {
      const operands = chosen.map((kind): Pick<TensorMeta, 'shape' | 'strides'> => {
        const dense = contiguousStrides(shape);
        if (kind === 'dense') return { shape, strides: dense };
        if (kind === 'broadcast') return { shape: shape.map(() => 1), strides: dense };
        if (kind === 'row') return { shape: shape.slice(-1), strides: dense.slice(-1) };
        const reversed = [...shape].reverse();
        return { shape, strides: [...contiguousStrides(reversed)].reverse() };
      }) as TensorMeta[];
      const strides = operands.map((each) => broadcastStrides(each.shape, each.strides, shape));
      expect(innerLength(shape, operands)).toBe(collapse(shape, strides).shape.at(-1) ?? 1);
    }),
    { numRuns: 300 },
  );
});

describe('ops of groups', () => {
  /** All but functions and names of values. */
  const textOf = ({ op, attrs, inputs, outputs, at, recordsGrad }: ProgramOp): string =>
    JSON.stringify([op, attrs, inputs, outputs, at, recordsGrad], (_, value) => {
      if (value instanceof Set) return [...value];
      return isSymbolic(value) ? `scalar ${value.id}` : value;
    });

  it('are those that each group alone would have, and share a record where structures are alike', () => {
    seed(2);
    const layers = [0, 1, 2].map(() => new nn.Linear(16, 16));
    const optimizer = new optim.AdamW(
      layers.flatMap((each) => [...each.parameters()]),
      { lr: 0.1 },
    );
    const step = toStatic((x: Tensor) => {
      const y = layers.reduce((each, layer) => layer.forward(each).gelu().softmax(-1), x);
      y.square().mean().backward();
      optimizer.step();
      optimizer.zeroGrad();
    });
    const records: PassRecord[] = [];
    const unsubscribe = passObservers.subscribe((record) => {
      if (record.stage === 'ordered') records.push(record);
    });
    tidy(() => step(randn([64, 16])));
    unsubscribe();
    let [alike, made] = [0, 0];
    for (const { program } of records) {
      // The same ops under other names, with the same metas, as where values are computed again.
      const count = program.values.length;
      const values = [...program.values, ...program.values];
      const renamed = (ids: readonly ValueId[]) => ids.map((id) => (id + count) as ValueId);
      for (const { parts, inputs, outputs } of program.ops) {
        if (!parts) continue;
        const others = parts.map((part) => ({
          ...part,
          inputs: renamed(part.inputs),
          outputs: renamed(part.outputs),
        }));
        const first = oneOpAlike(parts, outputs, values)!;
        const second = oneOpAlike(others, renamed(outputs), values)!;
        expect(textOf(first)).toBe(textOf(oneOp(parts, outputs, values)!));
        expect(textOf(second)).toBe(textOf(oneOp(others, renamed(outputs), values)!));
        expect(new Set(first.inputs)).toEqual(new Set(inputs));
        made++;
        if (second.op === first.op) alike++;
        // Other results, other ops.
        for (const id of parts[0]!.outputs) {
          const more = [...new Set([id, ...outputs])];
          const own = oneOpAlike(parts, more, values);
          const expected = oneOp(parts, more, values);
          expect(own && textOf(own)).toBe(expected && textOf(expected));
        }
      }
    }
    expect(made).toBeGreaterThan(10);
    expect(alike).toBe(made);
  });
});
