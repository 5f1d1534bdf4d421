/**
 * Gradients enter and leave branches, loops and calls with data-dependent shapes in layouts that differ from eager
 * ones. Sums of them have eager bits: generated programs of parts that lie around and in regions.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DType,
  FullGraphError,
  memoryPresets,
  randn,
  type StaticFunction,
  seed,
  stack,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { runs } from '../../generated/runs.ts';
import type { Fn } from '../outcome.ts';
import { expectPredicted } from '../suite.ts';

const [rows, columns] = [41, 70];

interface Given {
  readonly x: Tensor;
  /** [columns] */
  readonly bias: Tensor;
  /** [rows, 1] */
  readonly column: Tensor;
  readonly n: Tensor;
}

/** What is read in the region: matrices that others were broadcast to, or views. */
const before: Readonly<Record<string, (given: Given) => Tensor>> = {
  'rows, broadcast': ({ x, bias }) => x.mul(1.1).add(bias),
  'columns, broadcast': ({ x, column }) => x.add(column),
  'both, broadcast': ({ x, bias, column }) => x.mul(bias).add(column).add(bias),
  'repeated rows': ({ bias }) => bias.expand([rows, columns]),
  'repeated columns': ({ column }) => column.expand([rows, columns]),
  'a transposed matrix': ({ x, bias, column }) => x.t().add(column.t()).t().add(bias),
  'a part': ({ x, bias, column }) => x.add(bias).add(column).narrow(1, 3, 60),
  'a permuted part': ({ x, bias, column }) =>
    x.add(bias).add(column).reshape([rows, 7, 10]).permute([2, 0, 1]).narrow(0, 2, 8),
};

const regions: Readonly<Record<string, (y: Tensor, n: Tensor) => Tensor>> = {
  'a branch that adds': (y, n) => (n.itemSync() > 1 ? y.add(1) : y.sub(1)),
  'a branch that forwards': (y, n) => {
    let z = y;
    if (n.itemSync() > 1) z = y.add(0.5);
    return z;
  },
  'a branch of sums': (y, n) => (n.itemSync() > 1 ? y.add(y.sum(0, { keepDim: true })) : y.sub(1)),
  'a branch of views': (y, n) => {
    const t = y.transpose(0, 1);
    return n.itemSync() > 1 ? t.add(t.mean(0)) : t.neg();
  },
  'one layout on each path': (y, n) =>
    n.itemSync() > 1 ? y.transpose(0, 1).add(1).transpose(0, 1) : y.add(2),
  'a loop': (y, n) => {
    let z = y;
    for (let i = 0; i < n.itemSync(); i++) z = z.add(y);
    return z;
  },
  'a loop of transposed matrices': (y, n) => {
    let z = y.add(0);
    for (let i = 0; i < n.itemSync(); i++) z = z.transpose(0, 1).add(1).transpose(0, 1).add(y);
    return z;
  },
  'a loop of means': (y, n) => {
    let z = y.add(0);
    for (let i = 0; i < n.itemSync(); i++) z = z.sub(z.mean(0, { keepDim: true })).add(y.mean());
    return z;
  },
  'a list': (y, n) => {
    const out: Tensor[] = [];
    for (let i = 0; i < n.itemSync(); i++) out.push(y.add(i));
    return stack(out).mean(0);
  },
  'rows in a list': (y, n) => {
    const out: Tensor[] = [];
    for (let i = 0; i < n.itemSync(); i++) out.push(y.select(0, i));
    return stack(out).sub(1);
  },
  'some rows': (y, n) => y.narrow(0, 0, n.itemSync()).add(y.mean(0)),
  'a branch in a loop': (y, n) => {
    let z = y;
    for (let i = 0; i < n.itemSync(); i++) {
      if (z.mean().itemSync() > 0.3) z = z.sub(y.sum(0));
      else z = z.add(0.7);
    }
    return z;
  },
};

const losses: Readonly<Record<string, (z: Tensor) => Tensor>> = {
  mean: (z) => z.mean(),
  sum: (z) => z.sum(),
  'squares of rows': (z) => z.sum(0).square().sum(),
  'squares of columns': (z) => z.mean(1).square().sum(),
  'transposed squares': (z) => z.transpose(0, 1).contiguous().square().sum(),
  'in two layouts': (z) => z.mean().add(z.sin().sum()),
};

const modes: Readonly<Record<string, ToStaticOptions>> = {
  'full graph': { fullGraph: true },
  auto: { capture: 'auto' },
  ...Object.fromEntries(
    Object.keys(memoryPresets).map((name) => [
      name,
      { fullGraph: true, memory: name as keyof typeof memoryPresets },
    ]),
  ),
};

const namesOf = (table: object) => fc.constantFrom(...Object.keys(table));

interface Choice {
  readonly first: string;
  readonly region: string;
  readonly loss: string;
  readonly where: string;
  readonly dtype: DType;
  readonly mode: string;
}

const choices: fc.Arbitrary<Choice> = fc.record({
  first: namesOf(before),
  region: namesOf(regions),
  loss: namesOf(losses),
  where: fc.constantFrom('backward inside', 'loss inside', 'loss outside'),
  dtype: fc.constantFrom<DType>('float32', 'float32', 'float64'),
  mode: namesOf(modes),
});

/** Calls the function with new leaves and n = 2, 3 and 1, and returns the bits of their gradients. */
function gradients(fn: (given: Given) => Tensor, { loss, where, dtype }: Choice): unknown[] {
  return [2, 3, 1].map((n) =>
    tidy(() => {
      seed(n);
      const leafOf = (...shape: number[]) => randn(shape, { dtype }).requiresGrad_();
      const leaves = { x: leafOf(rows, columns), bias: leafOf(columns), column: leafOf(rows, 1) };
      const z = fn({ ...leaves, n: tensor(n) });
      if (where === 'loss outside') losses[loss]!(z).backward();
      if (where === 'loss inside') z.backward();
      const all = Object.values(leaves);
      const bits = [z, ...all.map(({ grad }) => grad)].map((t) => t && [...t.dataSync()]);
      for (const { grad } of all) grad?.dispose();
      return bits;
    }),
  );
}

describe('full-graph/gradient layouts', () => {
  it('sums have eager bits, whatever enters and leaves a region', { timeout: 240_000 }, () => {
    const seen = { programs: 0, strided: 0, refused: 0 };
    const check = (choice: Choice) => {
      const { first, region, loss, where, mode } = choice;
      let strided = false;
      const body = (given: Given, watch: boolean) => {
        const y = before[first]!(given);
        if (watch) {
          y.registerHook((gradient) => {
            strided ||= !gradient.isContiguous;
          });
        }
        const z = regions[region]!(y, given.n);
        if (where === 'loss outside') return z;
        const total = losses[loss]!(z);
        if (where === 'backward inside') total.backward();
        return total;
      };
      const expected = gradients((given) => body(given, true), choice);
      const graph = toStatic((given: Given) => body(given, false), modes[mode]!);
      try {
        expect(gradients(graph, choice)).toEqual(expected);
      } catch (error) {
        if (!(error instanceof FullGraphError)) throw error;
        seen.refused++;
        return;
      }
      expectPredicted(graph as StaticFunction<Fn>);
      const { graphs, breaks } = graph.stats();
      if (graphs === 1 && breaks.length === 0) seen.programs++;
      if (strided) seen.strided++;
    };
    const { numRuns = 0, ...from } = runs<[Choice]>(60);
    fc.assert(fc.property(choices, check), { numRuns, ...from });
    expect(seen.programs).toBeGreaterThan(0.8 * numRuns);
    expect(seen.strided).toBeGreaterThan(0.3 * numRuns);
    expect(seen.refused).toBeLessThan(0.05 * numRuns);
  });
});
