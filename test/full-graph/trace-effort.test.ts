/** How many instructions and paths are traced: counts that grow with the code, and an error where they would multiply. */

import { describe, expect, it, vi } from 'vitest';
import { PathLimit } from '../../src/3-trace/state/path-limit.ts';
import { Tracer } from '../../src/3-trace/state/tracer.ts';
import {
  FullGraphError,
  nn,
  optim,
  stack,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { countCalls } from './count-calls.ts';

interface Effort {
  readonly instructions: number;
  readonly paths: number;
}

/** What it takes to trace the function for its first call. */
function effortOf(fn: (x: Tensor) => unknown, options: ToStaticOptions): Effort {
  const graph = toStatic(fn, options);
  let paths = 0;
  const instructions = countCalls(Tracer.prototype, 'tick', () => {
    paths = countCalls(PathLimit.prototype, 'count', () => graph(tensor([0.3, -0.2, 0.4])));
  });
  expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  return { instructions, paths };
}

/** A function of so many decisions, from its text. */
function functionOf(text: string): (x: Tensor) => unknown {
  return new Function(`return (x) => {${text}}`)() as (x: Tensor) => unknown;
}

const repeated = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join('\n');

/** Functions that grow with a number; `power`: as which power of it their effort may grow. */
const families: Record<
  string,
  {
    readonly power: number;
    readonly sizes?: readonly number[];
    readonly text: (n: number) => string;
  }
> = {
  'branches in a row': {
    power: 1,
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `if (y.sum().itemSync() > ${i}) y = y.mul(2); else y = y.sub(1);`)}
      return y;`,
  },
  'nested branches': {
    power: 1,
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `if (y.sum().itemSync() > ${i}) { y = y.mul(2);`)}
      ${'}'.repeat(n)}
      return y;`,
  },
  'early returns': {
    power: 1,
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `if (y.sum().itemSync() > ${i}) return y; y = y.mul(2);`)}
      return y;`,
  },
  'objects that change places': {
    power: 1,
    text: (n) =>
      `let a = { k: 0 }, b = { k: 1 };
      ${repeated(n, (i) => `if (x.sum().itemSync() > ${i}) [a, b] = [b, a];`)}
      return x.mul(a.k);`,
  },
  'loops in a row': {
    power: 1,
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `while (y.sum().itemSync() < ${i}) y = y.add(1);`)}
      return y;`,
  },
  'nested loops': {
    power: 2,
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `while (y.sum().itemSync() < ${i}) { y = y.add(1);`)}
      ${'}'.repeat(n)}
      return y;`,
  },
  'nested loops that count': {
    power: 2,
    sizes: [1, 2, 4],
    text: (n) =>
      `let y = x;
      const end = x.sum().itemSync() + 3;
      ${repeated(n, (i) => `for (let i${i} = 0; i${i} < end; i${i}++) { y = y.add(i${i});`)}
      ${'}'.repeat(n)}
      return y;`,
  },
  'nested loops with break and continue': {
    power: 2,
    sizes: [1, 2, 4],
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `while (y.sum().itemSync() < 9) { y = y.add(1); if (y.amax().itemSync() > ${i + 5}) break; if (y.amin().itemSync() < -3) continue;`)}
      ${'}'.repeat(n)}
      return y;`,
  },
  'loops inside branches, with a number that stops being whole': {
    power: 1,
    text: (n) =>
      `let y = x, lr = 1;
      const out = [];
      ${repeated(n, (i) => `out.push(y); if (y.sum().itemSync() > ${i}) return [out, lr];`)}
      while (y.sum().itemSync() > 0) { y = y.sub(1); lr = lr * 0.5; out.push(y); }
      return [out, lr];`,
  },
  'nested loops that fill a list': {
    power: 2,
    sizes: [1, 2, 4],
    text: (n) =>
      `let y = x;
      const out = [];
      ${repeated(n, (i) => `while (y.sum().itemSync() < ${i}) { y = y.add(1); out.push(y);`)}
      ${'}'.repeat(n)}
      return out;`,
  },
  'a ladder of conditions': {
    power: 1,
    text: (n) =>
      `let y = x;
      ${repeated(n, (i) => `if (x.sum().itemSync() > ${n - i}) y = y.mul(${i + 2}); else`)}
      y = y.neg();
      return y;`,
  },
  'objects sorted by what is read': {
    power: 2,
    text: (n) =>
      `const items = Array.from({ length: ${n} }, (_, i) => ({ value: x.sin().select(0, i % 3).add(i).itemSync(), i }));
      items.sort((a, b) => a.value - b.value);
      return items.map(({ i }) => i);`,
  },
};

describe('the effort of a trace grows as its code does', () => {
  const modes: readonly ToStaticOptions[] = [{ fullGraph: true }, { capture: 'auto' }];
  const cases = Object.entries(families).flatMap(([name, family]) =>
    modes.map((options) => ({ name, options, mode: JSON.stringify(options), ...family })),
  );
  it.each(cases)(
    '$name, $mode',
    { timeout: 60_000 },
    ({ power, sizes = [2, 4, 8], text, options }) => {
      const [few, some, many] = sizes.map((n) => effortOf(functionOf(text(n)), options));
      for (const kind of ['instructions', 'paths'] as const) {
        const growth = (many![kind] - some![kind]) / (some![kind] - few![kind]);
        // Twice the size: exactly the power of two where the effort is a polynomial of that degree.
        expect(growth, kind).toBeLessThanOrEqual(2 ** power * 1.2);
      }
    },
  );
});

class Block extends nn.Module {
  readonly inner = new nn.Linear(2, 2);
  readonly norm = new nn.LayerNorm([2]);

  override forward(x: Tensor): Tensor {
    return x.add(this.inner.forward(this.norm.forward(x)).relu());
  }
}

it('whole training steps take instructions in proportion to their layers', () => {
  const [few, some, many] = [4, 8, 16].map((count) => {
    const blocks = new nn.Sequential(...Array.from({ length: count }, () => new Block()));
    const optimizer = new optim.AdamW(blocks.parameters(), { lr: 0.01 });
    return effortOf(
      () => {
        const loss = blocks
          .forward(tensor([[1, 2]]))
          .square()
          .mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { fullGraph: true },
    ).instructions;
  });
  expect((many! - some!) / (some! - few!)).toBeLessThanOrEqual(2.1);
});

describe('pathLimit', () => {
  const tree = (x: Tensor): Tensor => {
    const descend = (y: Tensor, depth: number): Tensor => {
      if (depth === 6) return y;
      if (y.sum().itemSync() > 0) return descend(y.mul(2), depth + 1);
      return descend(y.sub(1), depth + 1);
    };
    return descend(x, 0);
  };

  it('names the decision that multiplies, how often it was met, and what to write instead', () => {
    const graph = toStatic(tree, { fullGraph: true, pathLimit: 50 });
    const refused = () => graph(tensor([1, 2]));
    expect(refused).toThrow(FullGraphError);
    expect(refused).toThrow(
      /more than 50 paths \(pathLimit\) were traced for the decision at .*trace-effort\.test\.ts:\d+:\d+: \d+ at .*trace-effort\.test\.ts:\d+:\d+/,
    );
    expect(refused).toThrow(/remedy: .*argsort/);
    expect(refused).toThrow(/y\.sum\(\)\.itemSync\(\) > 0.*<--- HERE/);
  });

  it('ends the graph elsewhere, and the call goes on with the same values', () => {
    const graph = toStatic(tree, { capture: 'auto', pathLimit: 50 });
    for (const numbers of [
      [1, 2],
      [-1, -2],
      [0.5, -0.25],
    ]) {
      expect(graph(tensor(numbers)).toArraySync()).toEqual(tree(tensor(numbers)).toArraySync());
    }
    expect(graph.stats().breaks[0]).toMatchObject({ reason: 'too-many-paths' });
  });

  it('counts for each decision: any number of them in a row is fine', () => {
    const text = repeated(60, (i) => `if (x.sum().itemSync() > ${i}) x = x.add(1);`);
    const graph = toStatic(functionOf(`${text} return x;`), { fullGraph: true, pathLimit: 4 });
    graph(tensor([1]));
    expect(graph.stats()).toMatchObject({ graphs: 1, breaks: [] });
    expect(() => toStatic(() => 1, { pathLimit: 0 })).toThrow(/pathLimit/);
  });

  it('leaves an eighth to one program of a function that may be several, tried once', () => {
    const weights = tensor([
      [0.3, -0.8, 0.5],
      [-0.6, 0.9, 0.2],
    ]);
    const search = (start: Tensor, steps: number) => {
      let beams = [{ tokens: [0], score: 0, state: start }];
      for (let step = 0; step < steps; step++) {
        const candidates: typeof beams = [];
        for (const { tokens, score, state } of beams) {
          const scores = state.matmul(weights).logSoftmax(0);
          for (let token = 0; token < 3; token++) {
            candidates.push({
              tokens: [...tokens, token],
              score: score + scores.select(0, token).itemSync(),
              state: state.mul(token).tanh(),
            });
          }
        }
        candidates.sort((a, b) => b.score - a.score);
        beams = candidates.slice(0, 2);
      }
      return beams.map(({ tokens }) => tokens);
    };
    const start = () => tensor([0.4, -0.7]);
    const paths = [2, 4].map((steps) => {
      const count = vi.spyOn(PathLimit.prototype, 'count');
      const graph = toStatic(search, { capture: 'auto', pathLimit: 200 });
      expect(graph(start(), steps)).toEqual(search(start(), steps));
      expect(graph.stats().breaks[0]!.detail).toMatch(
        /as one program, it takes more than 25 paths \(an eighth of pathLimit\): \d+ at .*trace-effort\.test\.ts:\d+/,
      );
      const { length } = count.mock.calls;
      count.mockRestore();
      return length;
    });
    // Further steps add what they take after a break, and no attempt.
    expect(paths[0]).toBeLessThan(100);
    expect(paths[1]! - paths[0]!).toBeLessThan(100);
    const whole = toStatic(search, { capture: 'auto' });
    expect(whole(start(), 2)).toEqual(search(start(), 2));
    expect(whole.stats()).toMatchObject({ graphs: 1, breaks: [] });
  });
});

describe('a loop that ends by data and is unrolled without end', () => {
  it('is traced as one program, although calls inside instructions reach their limit first', () => {
    class State {
      constructor(readonly x: Tensor) {}
      get isFar(): Tensor {
        return this.x.sum().gt(50);
      }
    }
    const run = (x: Tensor) => {
      const sums = [x.sum()];
      let y = x;
      // Each iteration nests one decision; in the last one that is followed, the getter nests once more.
      while (!new State(y).isFar.itemSync()) {
        y = y.mul(2);
        sums.push(y.sum());
      }
      return stack(sums);
    };
    const graph = toStatic(run, { capture: 'auto' });
    for (const start of [20, 0.5, 3, 49]) {
      const x = tensor([start, 0.25]);
      expect(graph(x).tolist()).toEqual(run(x).tolist());
    }
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  });
});
