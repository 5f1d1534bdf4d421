/** Hooks on leaves of captured calls: called in the order in which eager backward completes gradients. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grad, load, save, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { runs } from '../generated/runs.ts';

type Fn = (leaves: readonly Tensor[]) => Tensor[];

const leafCount = 4;

type Op = readonly [kind: string, a: number, b: number];

const straight = ['add', 'mul', 'sub', 'tanh', 'square', 'rows', 'write', 'detach'] as const;
const inRegions = ['add', 'mul', 'tanh', 'branch', 'one path', 'loop'] as const;

const opOf = (kinds: readonly string[]): fc.Arbitrary<Op> =>
  fc.tuple(fc.constantFrom(...kinds), fc.nat(20), fc.nat(20));

interface Graph {
  readonly ops: readonly Op[];
  /** Which of the values are returned. */
  readonly returned: readonly number[];
  /** Per call: which results are differentiated. */
  readonly roots: readonly (readonly number[])[];
  readonly how: 'backward' | 'twice' | 'createGraph' | 'grad' | 'two calls';
  /** What hooks return. */
  readonly factor: number;
  /** The leaf whose hook throws, if there is one. */
  readonly throws: number;
}

const graphsOf = (kinds: readonly string[]): fc.Arbitrary<Graph> =>
  fc.record({
    ops: fc.array(opOf(kinds), { minLength: 2, maxLength: 10 }),
    returned: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
    roots: fc.array(fc.array(fc.nat(2), { minLength: 1, maxLength: 2 }), {
      minLength: 2,
      maxLength: 2,
    }),
    how: fc.constantFrom('backward', 'twice', 'createGraph', 'grad', 'two calls'),
    factor: fc.constantFrom(1, 3),
    throws: fc.nat(leafCount * 3),
  });

function functionOf({ ops, returned, how }: Graph): Fn {
  const text = ops.map(([kind, a, b], i) => {
    const known = leafCount + i;
    const [x, y] = [`v[${a % known}]`, `v[${b % known}]`];
    const unary = { tanh: `${x}.tanh()`, square: `${x}.mul(${x})`, detach: `${x}.detach()` };
    if (kind === 'rows') return `v.push(${x}.select(0, 0).add(${y}));`;
    const decides = `${x}.sum().itemSync() > ${b % 3} / 3`;
    if (kind === 'branch') {
      return `v.push(${decides} ? ${y}.mul(v[1]).add(v[0]) : v[3].mul(v[2]).sub(${y}));`;
    }
    if (kind === 'one path')
      return `{ let t = ${x}; if (${decides}) t = v[2].mul(t).add(v[${a % 4}]); v.push(t); }`;
    if (kind === 'loop') {
      return `{ let t = ${x}; let n = 0; while (t.sum().itemSync() < 3 && n < ${(b % 3) + 2}) { n++; t = t.add(v[3].mul(v[0])).add(v[${b % 4}].square()); } v.push(t); }`;
    }
    // A gradient of a gradient may need what a write has replaced, which a plan needn't keep.
    if (kind === 'write' && how === 'createGraph') return `v.push(${x}.mul(${y}).exp());`;
    if (kind === 'write')
      return `{ const t = ${x}.mul(2); t.select(0, 1).mul_(${y}.select(0, 0)); v.push(t); }`;
    return `v.push(${unary[kind as keyof typeof unary] ?? `${x}.${kind}(${y})`});`;
  });
  const results = returned.map((i) => `v[${leafCount + (i % ops.length)}]`);
  const body = `const v = [...leaves]; ${text.join('\n')} return [${results.join()}];`;
  return new Function('leaves', body) as Fn;
}

/** What hooks see, in their order, and what is left of it. */
function seen(fn: Fn, { roots, how, factor, throws }: Graph): unknown[] {
  return tidy(() => {
    const log: unknown[] = [];
    const leaves = Array.from({ length: leafCount }, (_, k) =>
      tensor([
        [0.3 * k + 0.1, 0.7],
        [-0.2, 0.4 * k],
      ]).requiresGrad_(),
    );
    const grads = () => leaves.map((leaf) => leaf.grad && [...leaf.grad.dataSync()]);
    leaves.forEach((leaf, k) => {
      leaf.registerHook((g) => {
        log.push([k, [...g.dataSync()], leaves.map((each) => each.grad !== null)]);
        if (k === throws) throw new RangeError('a hook');
        return factor === 1 ? undefined : g.mul(factor);
      });
    });
    for (const root of roots) {
      const results = fn(leaves);
      const more = how === 'two calls' ? fn(leaves.toReversed()) : [];
      const all = [...results, ...more];
      const asked = root.map((i) => all[i % all.length]!).filter((t) => t.requiresGrad);
      if (asked.length === 0) continue;
      const loss = [...asked, ...more.filter((t) => t.requiresGrad)]
        .map((t) => t.sum())
        .reduce((a, b) => a.add(b));
      try {
        if (how === 'grad') {
          const found = grad(loss, leaves.slice(1), { allowUnused: true });
          log.push(found.map((g) => g && [...g.dataSync()]));
        } else {
          const retainGraph = how === 'twice';
          loss.backward(null, { retainGraph, createGraph: how === 'createGraph' });
          if (retainGraph) loss.backward();
        }
      } catch (error) {
        log.push(String(error));
      }
    }
    return [...log, grads()];
  });
}

describe('run-program/leaf-hooks', () => {
  it.each([
    ['straight code', straight, 40, false],
    ['branches and loops', inRegions, 16, true],
  ] as const)(
    'are called in eager order in %s, whichever results are differentiated',
    {
      timeout: 600_000,
    },
    (_, kinds, count, fullGraph) => {
      let ordered = 0;
      const property = fc.property(graphsOf(kinds), (graph) => {
        const fn = functionOf(graph);
        const eagerly = seen(fn, graph);
        const captured = toStatic(fn, { fullGraph });
        expect(seen(captured, graph)).toEqual(eagerly);
        expect(captured.stats().breaks).toEqual([]);
        const leaves = eagerly.slice(0, -1).map((entry) => (entry as unknown[])[0] as number);
        if (leaves.some((k, i) => i > 0 && k < leaves[i - 1]!)) ordered++;
      });
      const chosen = runs(count);
      fc.assert(property, chosen);
      // The order of the inputs wouldn't do.
      expect(ordered).toBeGreaterThan((chosen.numRuns ?? count) / 4);
    },
  );

  it('and where the function itself differentiates a branch', () => {
    const ordersOf = (capture: boolean) =>
      tidy(() => {
        const order: number[] = [];
        const [a, b, c, d] = [1, 2, 3, 4].map((k) => tensor([k]).requiresGrad_());
        [a, b, c, d].forEach((leaf, k) => {
          leaf!.registerHook(() => {
            order.push(k);
          });
        });
        const step = (x: Tensor) => {
          const isPositive = x.sum().itemSync() > 0;
          const y = isPositive ? a!.mul(b!).add(c!).mul(d!) : d!.mul(b!.add(a!.mul(c!)));
          y.mul(2).sum().backward();
          return y.detach();
        };
        const run = capture ? toStatic(step, { fullGraph: true }) : step;
        for (const sign of [1, -1, -1, 1]) run(tensor([sign]));
        for (const leaf of [a, b, c, d]) leaf!.grad!.dispose();
        return order;
      });
    expect(ordersOf(true)).toEqual(ordersOf(false));
  });

  it('and in a program that was saved', async () => {
    const fn = ([a, b, c, d]: readonly Tensor[]) => {
      const h = a!.mul(b!).add(c!);
      return [h.tanh().mul(d!), d!.sub(b!.tanh()), c!.mul(a!)];
    };
    const captured = toStatic(fn as Fn);
    const graph = { ops: [], returned: [], how: 'backward', factor: 3, throws: -1 } as const;
    for (const roots of [[[0, 2]], [[1, 0]], [[1, 2]]]) {
      const eagerly = seen(fn as Fn, { ...graph, roots });
      expect(seen(captured, { ...graph, roots })).toEqual(eagerly);
      const loaded = (await load(await save(captured))) as Fn;
      expect(seen(loaded, { ...graph, roots })).toEqual(eagerly);
    }
  });
});
