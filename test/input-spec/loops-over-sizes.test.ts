/** Loops over a dynamic size are loops of one program, and so is what they collect in lists. */

import { describe, expect, it } from 'vitest';
import {
  cat,
  loadProgram,
  manualSeed,
  nn,
  randn,
  save,
  stack,
  type Tensor,
  tensor,
  tensorSpec,
  toStatic,
} from '../../src/index.ts';
import { expectSame } from '../expect-same.ts';

type Fn = (x: Tensor, w: Tensor) => unknown;

const sizes = [5, 2, 7, 3];

/** Runs the function for each size, eagerly and as one program: results and gradients are the same. */
function expectOneProgram(fn: Fn, translations = 1): void {
  const graph = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec(['n', 3, 4])] });
  for (const [i, n] of sizes.entries()) {
    const [eager, captured] = [fn, graph].map((each) => {
      manualSeed(i);
      const [x, w] = [randn([n, 3, 4]), randn([4])].map((leaf) => leaf.requiresGrad_());
      const result = each(x!, w!);
      const [y] = [result].flat() as [Tensor];
      y.sum().backward();
      return { result, gradients: [x!.grad, w!.grad] };
    });
    expectSame(captured, eager);
  }
  const { translations: found, graphRuns, fallbacks } = graph.stats();
  expect({ found, graphRuns, fallbacks }).toEqual({
    found: translations,
    graphRuns: sizes.length,
    fallbacks: [],
  });
}

const step = (h: Tensor, row: Tensor): Tensor => h.add(row).tanh();

/** Functions that collect one state per row, with loops that count differently. */
const loops: Readonly<Record<string, (x: Tensor, collect: (i: number) => void) => void>> = {
  'to a size': (x, collect) => {
    for (let i = 0; i < x.shape[0]!; i++) collect(i);
  },
  'to a size that is included': (x, collect) => {
    for (let i = 0; i <= x.shape[0]! - 1; i++) collect(i);
  },
  'down from a size': (x, collect) => {
    for (let i = x.shape[0]! - 1; i >= 0; i--) collect(i);
  },
  'down to one': (x, collect) => {
    for (let i = x.shape[0]!; i > 0; i--) collect(i - 1);
  },
  'from a number': (x, collect) => {
    for (let i = 1; i < x.shape[0]!; i++) collect(i);
  },
  'to a fraction of a size': (x, collect) => {
    for (let i = 0; i < x.shape[0]! / 2; i++) collect(i);
  },
  'by twos': (x, collect) => {
    for (let i = 0; i < x.shape[0]!; i += 2) collect(i);
  },
  'to the smaller of two numbers': (x, collect) => {
    for (let i = 0; i < Math.min(x.shape[0]!, 4); i++) collect(i);
  },
  'in a while': (x, collect) => {
    let i = 0;
    while (i < x.shape[0]!) collect(i++);
  },
  'between bounds that both move': (x, collect) => {
    let [low, high] = [0, x.shape[0]!];
    while (low < high) {
      collect(low++);
      high--;
    }
  },
  'one after the other': (x, collect) => {
    for (let i = 0; i < x.shape[0]!; i++) collect(i);
    for (let i = 0; i < x.shape[0]!; i++) collect(i);
  },
};

describe('a loop that collects states', () => {
  it.each(Object.entries(loops))('%s', (_, loop) => {
    expectOneProgram((x, w) => {
      let h = x.select(0, 0).mul(w);
      const states: Tensor[] = [];
      loop(x, (i) => {
        h = step(h, x.select(0, i));
        states.push(h);
      });
      return [stack(states), h];
    });
  });
});

/** Functions of the collected states, of the input and of a weight. */
const uses: Readonly<Record<string, Fn>> = {
  'a product with the input': (x, w) => stack(rows(x, w)).mul(x),
  'a loss beside targets': (x, w) => stack(rows(x, w)).sub(x).square().mean(),
  'joined along another dimension': (x, w) => cat(rows(x, w), 1),
  'their number': (x, w) => {
    const all = rows(x, w);
    return [stack(all).mul(all.length), all.length];
  },
  'sizes of the result': (x, w) => {
    const all = stack(rows(x, w));
    return all.reshape([all.shape[0]! * 3, 4]);
  },
  'each of them twice': (x, w) => stack(rows(x, w).flatMap((row) => [row, row.mul(2)])),
  'in the opposite order': (x, w) => stack(rows(x, w).reverse()),
  'without the last': (x, w) => {
    const all = rows(x, w);
    all.pop();
    return all.length > 0 ? stack(all) : x.mul(w);
  },
  'after the first': (x, w) => {
    const all = [x.select(0, 0), ...rows(x, w)];
    all.shift();
    return stack(all);
  },
  mapped: (x, w) => stack(rows(x, w).map((row, i) => row.mul(i + 1))),
  'collected again': (x, w) => {
    const again: Tensor[] = [];
    for (const row of rows(x, w)) again.push(row.add(1));
    return stack(again);
  },
};

function rows(x: Tensor, w: Tensor): Tensor[] {
  const found: Tensor[] = [];
  for (let i = 0; i < x.shape[0]!; i++) found.push(x.select(0, i).mul(w));
  return found;
}

describe('collected rows', () => {
  it.each(Object.entries(uses))('%s', (_, use) => {
    expectOneProgram(use);
  });

  it('have their own program where a comparison of their number decides', () => {
    expectOneProgram((x, w) => {
      const all = stack(rows(x, w));
      return all.shape[0]! > 4 ? all.mul(2) : all.exp();
    }, 2);
  });

  it('of which data decide the number', () => {
    expectOneProgram((x, w) => {
      const all = [x.select(0, 0).mul(w)];
      for (let i = 0; i < x.shape[0]!; i++) {
        const row = x.select(0, i).mul(w);
        if (row.sum().itemSync() > 0) all.push(row);
      }
      return stack(all).sum(0);
    });
  });

  it('have sizes of their own where one of them is the number of rows by chance', () => {
    const f: Fn = (x, w) => stack(rows(x, w));
    const graph = toStatic(f, { fullGraph: true, inputSpec: [tensorSpec(['n', 3, 4])] });
    for (const n of [4, 3, 2, 5]) {
      const [x, w] = [randn([n, 3, 4]), randn([4])];
      expectSame(graph(x, w), f(x, w));
    }
  });
});

describe('recurrent modules', () => {
  it.each([
    ['LSTM', {}],
    ['GRU', { batchFirst: true }],
    ['RNN', { bidirectional: true }],
    ['LSTM', { numLayers: 2, batchFirst: true, dropout: 0.2 }],
    ['LSTM', { projSize: 3 }],
  ] as const)('%s %o has one program for all lengths', (name, options) => {
    const net = new nn[name](4, 6, options);
    const isFirst = 'batchFirst' in options;
    const shape = (n: number) => (isFirst ? [3, n, 4] : [n, 3, 4]);
    const forward = (x: Tensor, lengths: Tensor | null) =>
      net.forward(x, null, lengths)[0] as Tensor;
    for (const hasLengths of [false, true]) {
      const graph = toStatic(forward, {
        fullGraph: true,
        unrollLimit: 4,
        inputSpec: [tensorSpec(isFirst ? [3, 'n', 4] : ['n', 3, 4])],
      });
      for (const [i, n] of sizes.entries()) {
        const lengths = hasLengths ? tensor([n, 1, n - 1], { dtype: 'int32' }) : null;
        const x = randn(shape(n));
        const [eager, captured] = [forward, graph].map((each) => {
          manualSeed(i);
          const y = each(x, lengths);
          y.square().sum().backward();
          const gradients = net.parameters().map(({ grad }) => grad!.tolist());
          net.zeroGrad();
          return { y, gradients };
        });
        expectSame(captured, eager);
      }
      const { translations, graphRuns, fallbacks } = graph.stats();
      expect({ translations, graphRuns, fallbacks }).toEqual({
        translations: 1,
        graphRuns: sizes.length,
        fallbacks: [],
      });
    }
  });

  it('can be saved without an unrollLimit', async () => {
    const net = new nn.GRU(4, 6);
    const forward = (x: Tensor) => net.forward(x)[0];
    const graph = toStatic(forward, { fullGraph: true, inputSpec: [tensorSpec(['n', 3, 4])] });
    const inputs = [3, 5].map((n) => randn([n, 3, 4]));
    for (const x of inputs) graph(x);
    const loaded = await loadProgram(await save(graph));
    for (const x of inputs) expectSame(loaded(x), forward(x));
  });
});
