/** State between steps stays in the engine's arrays, and whatever else touches it finds the values that it must. */

import v8 from 'node:v8';
import { describe, expect, it } from 'vitest';
import type { Holder } from '../../runtime/device/holder.ts';
import {
  memory,
  nn,
  noGrad,
  optim,
  randn,
  seed,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { backendOver } from '../../src/onnxruntime/backend.ts';
import type { OrtTensors } from '../../src/onnxruntime/graph-program.ts';
import type { OrtSession } from '../../src/onnxruntime/load-package.ts';
import { engines } from './engines.ts';
import { standIn } from './stand-in.ts';

const copiesOf = (body: () => void): number[] =>
  memory.record(body).events.flatMap((event) => {
    const isOurs = event.kind === 'copy' && [event.from, event.to].includes('onnxruntime');
    return isOurs ? [event.bytes] : [];
  });

function close(found: readonly number[][], expected: readonly number[][]): void {
  expect(found.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  const other = expected.flat();
  for (const [i, value] of found.flat().entries()) expect(value).toBeCloseTo(other[i]!, 4);
}

const numbers = (x: Tensor): number[] => [...x.dataSync()];

/** A model whose first batch decides the sizes: 6 → 5 → 1. */
function regression(options: ToStaticOptions) {
  seed(7);
  const model = new nn.Sequential(new nn.Linear(6, 5), new nn.Tanh(), new nn.Linear(5, 1));
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const x = randn([8, 6]);
  const step = toStatic(
    () => {
      const loss = model.forward(x).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { fullGraph: true, check: 0, ...options },
  );
  return { model, optimizer, x, step };
}

describe.each(engines)('the state of a training step on %s', (_name, { ort, isApart, make }) => {
  it('is not copied between steps', () => {
    const backend = make();
    const own = regression({ backend });
    const expected = regression({});
    const run = ({ step }: typeof own) => step().dispose();
    for (let i = 0; i < 4; i++) run(own);
    for (let i = 0; i < 6; i++) run(expected);
    expect(copiesOf(() => run(own))).toEqual([]);
    expect(copiesOf(() => run(own))).toEqual([]);
    // Parameters, momenta, and the batch, which is read again and again.
    const bytes = (6 * 5 + 5 + 5 + 1) * 4;
    expect(backend.report().arrays.inUse).toBe(2 * bytes + 8 * 6 * 4);
    for (const [i, parameter] of own.model.parameters().entries()) {
      let found: number[] = [];
      expect(copiesOf(() => (found = numbers(parameter)))).toEqual([found.length * 4]);
      const other = numbers(expected.model.parameters()[i]!);
      close([found], [other]);
      // It is home now.
      expect(copiesOf(() => numbers(parameter))).toEqual([]);
    }
    expect(backend.report().arrays.inUse).toBe(bytes + 8 * 6 * 4);
  });

  it('keeps the bytes of the plan, and leaves no array behind', () => {
    const before = memory.stats('cpu').allocated;
    const backend = make();
    const { model, optimizer, x, step } = regression({ backend });
    for (let i = 0; i < 3; i++) step().dispose();
    expect(backend.report().arrays.inUse).toBeGreaterThan(0);
    optimizer.zeroGrad();
    for (const each of [model, optimizer, x]) each.dispose();
    expect(backend.report().arrays.inUse).toBe(0);
    if (isApart) expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('frees the array of a result with its last user, and leaves none to the collector', () => {
    const made: ArrayBufferLike[] = [];
    class Session extends ort.session {
      override run(...given: Parameters<OrtSession['run']>) {
        const results = super.run(...given) as OrtTensors;
        for (const { data } of Object.values(results)) made.push(data.buffer);
        return results;
      }
    }
    const backend = backendOver(() => ({ ...ort, session: Session }));
    const { model, optimizer, step, x } = regression({ backend });
    const steps = 8;
    for (let i = 0; i < steps; i++) step().dispose();
    const bytesOf = (buffers: readonly ArrayBufferLike[]) =>
      buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const { inUse, waiting } = backend.report().arrays;
    expect(made.length).toBeGreaterThan(steps * 8);
    expect(bytesOf(made)).toBeLessThanOrEqual(inUse + waiting);
    const before = made.length;
    step().dispose();
    expect(bytesOf(made.slice(before))).toBeGreaterThan(0);
    optimizer.zeroGrad();
    for (const each of [model, optimizer, x]) each.dispose();
    expect(backend.report().arrays.inUse).toBe(0);
    expect(bytesOf(made)).toBeLessThanOrEqual(backend.report().arrays.waiting);
  });

  it('is as it was when the engine fails', () => {
    let fails = false;
    class Session extends ort.session {
      override run(...given: Parameters<OrtSession['run']>) {
        if (fails) throw new Error('the engine fails');
        return super.run(...given);
      }
    }
    const backend = backendOver(() => ({ ...ort, session: Session }));
    const own = regression({ backend });
    const expected = regression({});
    for (let i = 0; i < 3; i++) for (const { step } of [own, expected]) step().dispose();
    const { inUse } = backend.report().arrays;
    fails = true;
    expect(() => own.step()).toThrow('the engine fails');
    fails = false;
    expect(backend.report().arrays.inUse).toBe(inUse);
    const [loss, other] = [own.step(), expected.step()].map((each) => each.itemSync() as number);
    expect(loss).toBeCloseTo(other!, 5);
  });

  it('goes from one graph to the next, and to backward, without a copy', () => {
    const backend = make();
    const w = tensor([1, 2, 3], { requiresGrad: true });
    const f = toStatic((x: Tensor) => x.mul(w).exp(), { fullGraph: true, backend, check: 0 });
    const x = tensor([0.1, 0.2, 0.3]);
    const run = () => {
      const y = f(x);
      y.backward(x);
      w.grad!.dispose();
      w.grad = null;
      y.dispose();
    };
    for (let i = 0; i < 3; i++) run();
    expect(copiesOf(run)).toEqual([]);
    f(x).backward(x);
    const expected = [0, 1, 2].map((i) => {
      const [a, b] = [numbers(x)[i]!, numbers(w)[i]!];
      return a * a * Math.exp(a * b);
    });
    close([numbers(w.grad!)], [expected]);
  });
});

describe.each(engines)('what no step writes on %s', (_name, { make }) => {
  it('is copied in the first two calls, and batches in each', () => {
    const backend = make();
    const model = new nn.Linear(16, 4, { bias: false });
    for (const each of model.parameters()) each.requiresGrad_(false);
    const predict = toStatic((x: Tensor) => model.forward(x), { backend, check: 0 });
    const call = () => tidy(() => void predict(randn([2, 16])).dataSync());
    const [weight, batch, result] = [16 * 4 * 4, 2 * 16 * 4, 2 * 4 * 4];
    const copies = [0, 1, 2, 3].map(() => copiesOf(call).sort((a, b) => a - b));
    expect(copies).toEqual([
      [result, batch, weight],
      [result, batch, weight],
      [result, batch],
      [result, batch],
    ]);
    // A read of the weights ends that, since it might be a write.
    numbers(model.weight);
    expect(copiesOf(call)).toContain(weight);
    expect(copiesOf(call)).not.toContain(weight);
    const x = randn([2, 16]);
    close([numbers(predict(x))], [numbers(model.forward(x))]);
  });
});

describe('check mode', () => {
  it('compares what a step wrote, wherever it lies', () => {
    const backend = backendOver(() => standIn);
    const total = zeros([4]);
    const step = toStatic((x: Tensor) => total.add_(x.mul(2)).mul_(0.5).sum(), {
      fullGraph: true,
      backend,
      check: 4,
    });
    const expected = zeros([4]);
    for (let i = 0; i < 4; i++) {
      const x = tensor([i, 1, -2, 0.5]);
      step(x).dispose();
      expected.add_(x.mul(2)).mul_(0.5);
    }
    expect(numbers(total)).toEqual(numbers(expected));
    expect(step.stats().checks.runs).toBe(4);
  });
});

/** The same actions on tensors of a captured and of an eager world. */
interface World {
  readonly w: Tensor;
  readonly v: Tensor;
  readonly kept: Tensor[];
  readonly first: (x: Tensor) => Tensor;
  readonly second: (x: Tensor) => Tensor;
  readonly byKernels: (x: Tensor) => Tensor;
}

function worldOf(captured: (fn: (x: Tensor) => Tensor, isOurs: boolean) => World['first']): World {
  const [w, v] = [tensor([1, -2, 3, 0.5, 2, -1], { shape: [2, 3] }), zeros([3])];
  const first = captured((x) => w.mul_(0.5).add_(x).tanh(), true);
  // The same parameter in another function; writes to a view of it, and reads of one.
  const second = captured((x) => {
    w.narrow(0, 1, 1).mul_(2);
    v.add_(w.select(0, 0)).mul_(0.25);
    return w
      .t()
      .reshape([6])
      .add(x.reshape([6]))
      .mul(v.sum());
  }, true);
  const byKernels = captured((x) => v.mul_(2).sub_(x.sum(0)).exp(), false);
  return { w, v, kept: [], first, second, byKernels };
}

const actions: readonly ((world: World, x: Tensor, pick: number) => unknown)[] = [
  ({ first, kept }, x) => kept.push(first(x)),
  ({ first, kept }, x) => kept.push(first(x)),
  ({ second, kept }, x) => kept.push(second(x).reshape([2, 3])),
  ({ second }, x) => second(x),
  ({ byKernels, kept }, x) => kept.push(byKernels(x)),
  // A result is an argument, and may be written by kernels afterwards.
  ({ first, kept }, x, pick) => {
    const given = kept.findLast(({ shape }) => shape.length === 2) ?? x;
    kept.push(first(given));
    if (pick > 2) given.mul_(0.5);
  },
  ({ w }) => w.narrow(1, 0, 2).mul_(-0.5),
  ({ w, v }) => w.add_(v),
  ({ w, v }) => v.copy_(w.select(0, 1)),
  ({ kept }, _x, pick) => kept.splice(pick % (kept.length + 1), 1)[0]?.dispose(),
  ({ kept, w }) => kept.push(w.detach()),
  ({ kept, w }) => kept.push(w.clone()),
];

const seenIn = ({ w, v, kept }: World): number[][] => [w, v, ...kept].map(numbers);

function random(from: number): () => number {
  let state = from;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe.each(engines)('whatever touches the state on %s', (_name, { isApart, make }) => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('finds what eager execution finds: actions %i', (start) => {
    const before = memory.stats('cpu').allocated;
    const backend = make();
    const eager = worldOf((fn) => fn);
    const own = worldOf((fn, isOurs) => toStatic(fn, { check: 0, ...(isOurs && { backend }) }));
    const next = random(start);
    let kept = 0;
    const act = () => {
      for (let i = 0; i < 60; i++) {
        const data = Float32Array.from({ length: 6 }, () => next() - 0.5);
        const [action, pick] = [Math.floor(next() * actions.length), Math.floor(next() * 6)];
        for (const world of [eager, own]) {
          tidy(() => {
            actions[action]!(world, tensor(data, { shape: [2, 3] }), pick);
            return world.kept;
          });
        }
        kept += Number(backend.report().arrays.inUse > 0);
        if (next() < 0.15) close(seenIn(own), seenIn(eager));
      }
    };
    noGrad(act);
    close(seenIn(own), seenIn(eager));
    expect(kept).toBeGreaterThan(20);
    for (const { w, v, kept: rest } of [eager, own]) {
      for (const each of [w, v, ...rest]) each.dispose();
    }
    expect(backend.report().arrays.inUse).toBe(0);
    if (isApart) expect(memory.stats('cpu').allocated).toBe(before);
  });
});

describe('a holder whose bytes were elsewhere', () => {
  // Newer engines make an object slow when its last property is deleted, too.
  it.runIf(process.versions.v8.startsWith('11.'))(
    'is again like any other: kernels see one kind of object',
    () => {
      v8.setFlagsFromString('--allow-natives-syntax');
      const haveSameMap = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (
        a: Holder,
        b: Holder,
      ) => boolean;
      v8.setFlagsFromString('--no-allow-natives-syntax');
      const double = toStatic((x: Tensor) => x.mul(2), {
        backend: backendOver(() => standIn),
        check: 0,
      });
      const [result, other] = [double(zeros([4])), zeros([4])];
      expect(haveSameMap(result.holder!, other.holder!)).toBe(false);
      numbers(result);
      expect(haveSameMap(result.holder!, other.holder!)).toBe(true);
    },
  );
});
