/** Classes, configurations, decorators: how people arrange their code. */

import { nn, ones, randn, relu, type Tensor, tanh } from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

class Base extends nn.Module {
  readonly w = nn.parameter(weights([3, 3], 1));
  calls = 0;

  get scale(): number {
    return this.training ? 2 : 1;
  }

  activate(x: Tensor): Tensor {
    return relu(x);
  }

  override forward(x: Tensor): Tensor {
    this.calls++;
    return this.activate(x.matmul(this.w)).mul(this.scale);
  }
}

class Gated extends Base {
  readonly gate = nn.parameter(weights([3, 3], 2));

  override activate(x: Tensor): Tensor {
    return super.activate(x).mul(tanh(x.matmul(this.gate)));
  }

  static of(): Gated {
    return new Gated();
  }
}

const hierarchy: CorpusFunction = {
  name: 'a hierarchy of classes with super, getters and counters',
  make: () => {
    const model = Gated.of();
    return {
      fn: (x: Tensor) => model.forward(x),
      args: (call) => [values([2, 3], call)],
      state: () => model,
    };
  },
  expected: { graphs: 1 },
};

const switched: CorpusFunction = {
  name: 'training and evaluation in turn',
  make: () => {
    const model = new nn.Sequential(new nn.Linear(3, 4), new nn.Dropout(0.5), new nn.ReLU());
    return {
      fn: (x: Tensor, mode: 'train' | 'eval') => {
        if (mode === 'train') model.train();
        else model.eval();
        return model.forward(x);
      },
      args: (call) => [values([2, 3], call), call % 2 ? 'train' : 'eval'],
      state: () => model,
    };
  },
  expected: { graphs: 2 },
};

const configured: CorpusFunction = {
  name: 'a configuration with defaults and overrides',
  make: () => {
    const defaults = { layers: 2, activation: 'relu', residual: true, scale: 0.5 };
    const w = weights([3, 3], 1);
    return {
      fn: (x: Tensor, overrides: Partial<typeof defaults> = {}) => {
        const { layers, activation, ...rest } = { ...defaults, ...overrides };
        let h = x;
        for (let i = 0; i < layers; i++) {
          const y = h.matmul(w);
          switch (activation) {
            case 'relu':
              h = y.relu();
              break;
            case 'tanh':
              h = y.tanh();
              break;
            default:
              h = y;
          }
          if (rest.residual) h = h.add(x.mul(rest.scale));
        }
        return { h, used: Object.keys(rest).join() };
      },
      args: (call) => [
        values([2, 3], call),
        call % 2 ? { activation: 'tanh', layers: 1 } : undefined,
      ],
      state: () => w,
    };
  },
  expected: { graphs: 2 },
};

type Unary = (x: Tensor) => Tensor;

const decorated: CorpusFunction = {
  name: 'decorators: counting, scaling, memoizing',
  make: () => {
    const counts: Record<string, number> = {};
    const counted =
      (name: string) =>
      (fn: Unary): Unary => {
        return (x) => {
          counts[name] = (counts[name] ?? 0) + 1;
          return fn(x);
        };
      };
    const scaled =
      (by: number) =>
      (fn: Unary): Unary =>
      (x) =>
        fn(x).mul(by);
    const compose =
      (...decorators: ((fn: Unary) => Unary)[]) =>
      (fn: Unary) =>
        decorators.reduceRight((inner, decorator) => decorator(inner), fn);
    const model = compose(counted('outer'), scaled(3), counted('inner'))((x) => x.exp());
    return {
      fn: (x: Tensor) => model(x).add(model(x.neg())),
      args: (call) => [weights([3], call)],
      state: () => counts,
    };
  },
  calls: 5,
  expected: { graphs: 2 },
};

const memoized: CorpusFunction = {
  name: 'masks memoized by length',
  make: () => {
    const cache = new Map<number, Tensor>();
    const maskFor = (length: number) => {
      let mask = cache.get(length);
      if (!mask) {
        mask = ones([length, length]).tril();
        cache.set(length, mask);
      }
      return mask;
    };
    return {
      fn: (x: Tensor) => x.mul(maskFor(x.shape[0]!)).sum(),
      args: (call) => [weights([2 + (call % 2), 2 + (call % 2)], call)],
      state: () => [...cache],
    };
  },
  calls: 5,
  expected: { graphs: 4 },
};

const metrics: CorpusFunction = {
  name: 'running metrics in an object',
  make: () => {
    const meter = {
      count: 0,
      total: null as Tensor | null,
      history: [] as { step: number; value: Tensor }[],
      update(value: Tensor) {
        this.count++;
        this.total = this.total ? this.total.add(value) : value;
        this.history.push({ step: this.count, value });
      },
      get average() {
        return this.total!.div(this.count);
      },
    };
    return {
      fn: (x: Tensor) => {
        meter.update(x.mean());
        return meter.average;
      },
      args: (call) => [values([4], call)],
      state: () => meter,
    };
  },
  calls: 5,
  expected: { graphs: 2 },
};

interface Tree {
  value: Tensor;
  children: Tree[];
}

const tree: CorpusFunction = {
  name: 'a recursion over a tree',
  make: () => {
    const w = weights([2, 2], 1);
    const leaf = (i: number): Tree => ({ value: values([1, 2], i), children: [] });
    const encode = ({ value, children }: Tree): Tensor => {
      const below = children.map(encode);
      return below
        .reduce((sum, child) => sum.add(child), value)
        .matmul(w)
        .tanh();
    };
    return {
      fn: (root: Tree) => encode(root),
      args: () => [
        { value: values([1, 2], 0), children: [leaf(1), { ...leaf(2), children: [leaf(3)] }] },
      ],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

const batches: CorpusFunction = {
  name: 'a generator of batches',
  make: () => {
    const w = weights([2], 1);
    function* split(data: Tensor[], size: number) {
      for (let i = 0; i < data.length; i += size) yield data.slice(i, i + size);
    }
    return {
      fn: (data: Tensor[]) => {
        const losses: Tensor[] = [];
        for (const batch of split(data, 2)) {
          losses.push(batch.map((x) => x.mul(w).sum()).reduce((a, b) => a.add(b)));
        }
        return losses;
      },
      args: (call) => [[0, 1, 2].map((i) => values([2], call + i))],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

const confusion: CorpusFunction = {
  name: 'a confusion matrix in nested objects',
  make: () => {
    const table: Record<string, Record<string, number>> = {};
    return {
      fn: (scores: Tensor, truth: number[]) => {
        const predicted = scores.argmax(-1).dataSync();
        truth.forEach((t, i) => {
          table[`t${t}`] ??= {};
          const row = table[`t${t}`]!;
          const key = `p${predicted[i]}`;
          row[key] = (row[key] ?? 0) + 1;
        });
        return Object.entries(table).map(([key, row]) => `${key}=${Object.values(row).length}`);
      },
      args: (call) => [values([3, 2], call), [0, 1, 0]],
      state: () => table,
    };
  },
  expected: { graphs: 1, breaks: ['data-read'] },
};

const validated: CorpusFunction = {
  name: 'validation that throws, and a caller that catches',
  make: () => {
    const errors: string[] = [];
    const check = (x: Tensor, size: number) => {
      if (x.shape[0] !== size) throw new RangeError(`expected ${size}, got ${x.shape[0]}`);
      return x;
    };
    return {
      fn: (x: Tensor) => {
        try {
          return check(x.mul(2), 3).sum();
        } catch (error) {
          errors.push((error as Error).message);
          return x.sum();
        } finally {
          errors.push('done');
        }
      },
      args: (call) => [weights([call % 2 ? 2 : 3], call)],
      state: () => errors,
    };
  },
  expected: { graphs: 2 },
};

const logged: CorpusFunction = {
  name: 'progress that is printed',
  make: () => ({
    fn: (x: Tensor, verbose: boolean) => {
      const y = x.mul(2);
      if (verbose) console.log('shape', y.shape);
      const z = y.tanh();
      if (verbose) console.log('rank', z.rank);
      return z;
    },
    args: (call) => [weights([2], call), call > 1],
  }),
  expected: { graphs: 5, breaks: ['native-call'] },
};

const lazy: CorpusFunction = {
  name: 'weights that are made at the first call',
  make: () => {
    const layer: { w?: Tensor; uses: number } = { uses: 0 };
    return {
      fn: (x: Tensor) => {
        layer.w ??= randn([3, 3]).mul(0.1);
        layer.uses += 1;
        return x.matmul(layer.w);
      },
      args: (call) => [weights([2, 3], call)],
      state: () => layer,
    };
  },
  expected: { graphs: 2 },
};

export const structures: readonly CorpusFunction[] = [
  hierarchy,
  switched,
  configured,
  decorated,
  memoized,
  metrics,
  tree,
  batches,
  confusion,
  validated,
  logged,
  lazy,
];
