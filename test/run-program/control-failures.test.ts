/** Programs with branches and loops, and steps in slices: failures, forwards that interleave, a thousand steps. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { Captured } from '../../src/dispatch/captured-function.ts';
import {
  memory,
  OutOfMemoryError,
  optim,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { failAt } from './fail-at.ts';
import { bytesNow, data } from './memory-counter.ts';

const n = 64;

/** Three iterations, each with a branch; what backward needs of each is on a tape. */
const deciding = (x: Tensor, w: Tensor, turns: Tensor): Tensor => {
  let h = x.mul(w);
  for (let i = 0; i < turns.itemSync(); i++) {
    if (h.sum().itemSync() > 0) h = h.mul(w).tanh();
    else h = h.add(w).exp();
  }
  return h.mul(h).sum();
};

interface Setup {
  readonly fn: (x: Tensor, w: Tensor, turns: Tensor) => Tensor;
  readonly x: Tensor;
  readonly w: Tensor;
  readonly turns: Tensor;
  readonly expected: { readonly value: number; readonly gradient: number[] };
}

function gradientOf(w: Tensor): number[] {
  const values = [...w.grad!.dataSync()];
  w.grad!.dispose();
  w.grad = null;
  return values;
}

function setup(): Setup {
  const [x, w, turns] = [data([n]), data([n], { salt: 1 }).requiresGrad_(), tensor(3)];
  const fn = toStatic(deciding, { fullGraph: true });
  const loss = fn(x, w, turns);
  const value = loss.itemSync();
  loss.backward();
  loss.dispose();
  return { fn, x, w, turns, expected: { value, gradient: gradientOf(w) } };
}

afterEach(() => {
  vi.restoreAllMocks();
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Heap after collections, at every tenth of a thousand steps; bytes must be the same after each. */
function soak(step: () => void): number {
  for (let i = 0; i < 50; i++) step();
  const steady = bytesNow();
  const { reserved } = memory.stats('cpu');
  const heaps: number[] = [];
  for (let i = 0; i < 1000; i++) {
    step();
    if (bytesNow() !== steady) expect(bytesNow(), `step ${i}`).toBe(steady);
    if (i % 100 !== 99) continue;
    collect();
    heaps.push(process.memoryUsage().heapUsed);
  }
  expect(memory.stats('cpu').reserved).toBe(reserved);
  const [early, late] = [heaps.slice(0, 5), heaps.slice(5)].map((half) => Math.min(...half));
  return late! - early!;
}

describe('a program with branches and loops', () => {
  it('that runs out of memory in forward, anywhere, leaves nothing behind, and runs again', () => {
    const { fn, x, w, turns, expected } = setup();
    const before = bytesNow();
    let failures = 0;
    for (let nth = 0; nth < 60; nth++) {
      failAt(nth);
      try {
        const loss = fn(x, w, turns);
        expect(loss.itemSync()).toBe(expected.value);
        loss.dispose();
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
        failures++;
      }
      vi.restoreAllMocks();
      expect(bytesNow(), `after failure ${nth}`).toBe(before);
    }
    expect(failures).toBeGreaterThan(15);
    for (const each of [x, w, turns]) each.dispose();
  });

  it.each([false, true])('and in backward (retainGraph: %s)', (retainGraph) => {
    const { fn, x, w, turns, expected } = setup();
    const before = bytesNow();
    let failures = 0;
    for (let nth = 0; nth < 40; nth++) {
      const loss = fn(x, w, turns);
      failAt(nth);
      try {
        loss.backward(null, { retainGraph });
        vi.restoreAllMocks();
        expect(gradientOf(w)).toEqual(expected.gradient);
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
        vi.restoreAllMocks();
        failures++;
        // What was saved is there for another one.
        if (retainGraph) {
          w.grad?.dispose();
          w.grad = null;
          loss.backward();
          expect(gradientOf(w), `after failure ${nth}`).toEqual(expected.gradient);
        }
      }
      w.grad?.dispose();
      w.grad = null;
      loss.dispose();
      expect(bytesNow(), `after failure ${nth}`).toBe(before);
    }
    expect(failures).toBeGreaterThan(5);
    for (const each of [x, w, turns]) each.dispose();
  });

  it('whose backward meets a hook that throws leaves the bytes as before', () => {
    const { fn, x, w, turns, expected } = setup();
    const before = bytesNow();
    const hook = w.registerHook(() => {
      throw new Error('from the hook');
    });
    for (let i = 0; i < 3; i++) {
      const loss = fn(x, w, turns);
      expect(() => loss.backward()).toThrow('from the hook');
      loss.dispose();
      expect(bytesNow()).toBe(before);
    }
    hook.remove();
    const loss = fn(x, w, turns);
    loss.backward();
    loss.dispose();
    expect(gradientOf(w)).toEqual(expected.gradient);
    for (const each of [x, w, turns]) each.dispose();
  });

  it('whose op refuses its values in a later iteration leaves the bytes as before', () => {
    const table = data([2, n]);
    const rows = toStatic(
      (x: Tensor, table: Tensor, turns: Tensor) => {
        let h = x;
        let row: Tensor = tensor(Int32Array.of(0));
        for (let i = 0; i < turns.itemSync(); i++) {
          h = h.mul(table.indexSelect(0, row).sum(0));
          row = row.add(1);
        }
        return h.sum();
      },
      { fullGraph: true },
    );
    const x = data([n]).requiresGrad_();
    const [few, many] = [tensor(2), tensor(3)];
    tidy(() => void rows(x, table, few));
    const before = bytesNow();
    // It runs again eagerly, for the error's stack: the tensors of that are the caller's.
    for (let i = 0; i < 3; i++) {
      expect(() => tidy(() => void rows(x, table, many))).toThrow(/index/i);
      expect(bytesNow()).toBe(before);
    }
    tidy(() => void rows(x, table, few));
    expect(bytesNow()).toBe(before);
    for (const each of [x, table, few, many]) each.dispose();
  });

  it('runs twice before its backwards, with different numbers of iterations', () => {
    const { fn, x, w, turns, expected } = setup();
    const one = tensor(1);
    const alone = fn(x, w, one);
    alone.backward();
    const other = gradientOf(w);
    alone.dispose();
    const before = bytesNow();
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const losses = [fn(x, w, turns), fn(x, w, one)];
      const gradients = order.map((i) => {
        losses[i]!.backward();
        return gradientOf(w);
      });
      expect(gradients).toEqual(order.map((i) => [expected.gradient, other][i]));
      for (const each of losses) each.dispose();
      expect(bytesNow()).toBe(before);
    }
    for (const each of [x, w, turns, one]) each.dispose();
  });

  it('has the same bytes after each of 1,000 steps, and a flat heap', () => {
    const { fn, x, w, turns } = setup();
    const optimizer = new optim.SGD([w], { lr: 1e-3 });
    const grown = soak(() => {
      const loss = fn(x, w, turns);
      loss.backward();
      loss.dispose();
      optimizer.step();
      optimizer.zeroGrad();
    });
    expect(grown).toBeLessThan(2 ** 20);
    optimizer.dispose();
    for (const each of [x, w, turns]) each.dispose();
  });
});

describe('a step in slices', () => {
  function training() {
    seed(5);
    const built = mlp.build();
    const smallest = { memory: { prefer: 'bytes' } } as const;
    const captured = new Captured(built.step as Captured['fn'], smallest);
    const batch = built.inputs(0);
    const step = () => (captured.call(undefined, batch) as Tensor).dispose();
    for (let i = 0; i < 3; i++) step();
    const ops = captured.parts.at(-1)!.stages!.planned.forward.steps.map(({ op }) => op.op.name);
    expect(ops).toContain('narrow');
    return { step, release: () => [...batch, built].map((each) => each.dispose()) };
  }

  it('that runs out of memory, anywhere, leaves the bytes as before', () => {
    const start = bytesNow();
    const { step, release } = training();
    const before = bytesNow();
    let failures = 0;
    for (let nth = 0; nth < 12; nth++) {
      failAt(nth);
      try {
        step();
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
        failures++;
      }
      vi.restoreAllMocks();
      expect(bytesNow(), `after failure ${nth}`).toBe(before);
    }
    expect(failures).toBeGreaterThan(1);
    step();
    release();
    expect(bytesNow()).toBe(start);
  });

  it('has the same bytes after each of 1,000, and a flat heap', () => {
    const { step, release } = training();
    expect(soak(step)).toBeLessThan(2 ** 20);
    release();
  });
});
