/**
 * What training loops keep besides tensors: text, statistics and tables of values that each call changes. It runs
 * natively between graphs: a few translations serve all calls, and no op is eager.
 */

import { describe, expect, it } from 'vitest';
import { noGrad, randn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';

type Step = (x: Tensor, i: number) => unknown;
/** Creates a step with records of its own. `train`: updates a weight and returns the loss. */
type Case = (train: (x: Tensor) => Tensor) => Step;

const lines = Array.from({ length: 40 }, (_, i) => `${i},${i + 0.5}\n${2 * i},${i * i}`);

class Meter {
  sum = 0;
  n = 0;

  update(value: number): void {
    this.sum += value;
    this.n++;
  }

  get average(): number {
    return this.sum / this.n;
  }
}

const cases: Readonly<Record<string, Case>> = {
  'a Map with a growing key before the ops': (train) => {
    const seen = new Map<string, number>();
    return (x, i) => {
      seen.set(`step/${i}`, i);
      return [train(x), seen.size];
    };
  },
  'an object that gets a key in each call': (train) => {
    const seen: Record<string, number> = {};
    return (x, i) => {
      seen[`step ${i}`] = i;
      return [train(x), Object.keys(seen).length];
    };
  },
  'a loop over the keys of a Map that grows': (train) => {
    const losses = new Map<number, number>();
    return (x, i) => {
      losses.set(i * 10, train(x).itemSync());
      let sum = 0;
      for (const [key, loss] of losses) sum += key * loss;
      return sum;
    };
  },
  'lines that are parsed': (train) => (x, i) => {
    const rows = lines[i]!.split('\n').map((line) => line.split(',').map(Number));
    return tensor(rows).sum().add(train(x));
  },
  'a number in a text': (train) => (x, i) => {
    const [, digits] = /(\d+)/.exec(`run-${i * 3}`)!;
    return x.mul(Number(digits)).add(train(x));
  },
  'the parts of a date': (train) => (x, i) => {
    const date = new Date(1e12 + i * 1e9);
    return x.mul(date.getUTCDate()).add(train(x));
  },
  'the text of a date': (train) => {
    const log: string[] = [];
    return (x, i) => {
      log.push(new Date(1e12 + i * 1e8).toISOString());
      return [train(x), log.at(-1)];
    };
  },
  'JSON of a loss and its list, parsed again': (train) => (x, i) =>
    JSON.parse(JSON.stringify({ i, loss: train(x).itemSync(), list: x.tolist() })) as unknown,
  'a median': (train) => {
    const losses: number[] = [];
    return (x) => {
      losses.push(train(x).itemSync());
      return [...losses].sort((a, b) => a - b)[losses.length >> 1];
    };
  },
  'the best three': (train) => {
    let best: { i: number; loss: number }[] = [];
    return (x, i) => {
      best.push({ i, loss: train(x).itemSync() });
      best.sort((a, b) => a.loss - b.loss);
      best = best.slice(0, 3);
      return best.map((each) => each.i);
    };
  },
  'a histogram': (train) => {
    const counts = new Map<number, number>();
    return (x) => {
      train(x);
      for (const value of x.tolist() as number[]) {
        const bin = Math.floor(value);
        counts.set(bin, (counts.get(bin) ?? 0) + 1);
      }
      return [...counts].sort(([a], [b]) => a - b);
    };
  },
  'a confusion matrix': (train) => {
    const counts = Array.from({ length: 3 }, () => [0, 0, 0]);
    return (x, i) => {
      train(x);
      const row = counts[i % 3]!;
      row[x.argmax(0).itemSync() % 3]!++;
      return counts.map((each) => [...each]);
    };
  },
  'a ring buffer': (train) => {
    const ring: number[] = [];
    let next = 0;
    return (x) => {
      ring[next] = train(x).itemSync();
      next = (next + 1) % 8;
      return Math.max(...ring);
    };
  },
  'named meters in one line': (train) => {
    const meters: Record<string, Meter> = {};
    return (x) => {
      const loss = train(x).itemSync();
      for (const [name, value] of Object.entries({ loss, twice: 2 * loss })) {
        meters[name] ??= new Meter();
        meters[name].update(value);
      }
      return Object.entries(meters).map(([name, { average }]) => `${name} ${average.toFixed(3)}`);
    };
  },
  'rows of a table': (train) => {
    const rows: number[][] = [];
    return (x, i) => {
      rows.push([i, train(x).itemSync()]);
      return rows.map((row) => row.map((value) => value.toFixed(2)).join(',')).join('\n');
    };
  },
  'losses of epochs': (train) => {
    const epochs: number[][] = [];
    return (x, i) => {
      if (i % 4 === 0) epochs.push([]);
      epochs.at(-1)!.push(train(x).itemSync());
      let sum = 0;
      for (const epoch of epochs) for (const loss of epoch) sum += loss;
      return sum;
    };
  },
  'records that are searched': (train) => {
    const log: { i: number; loss: number; isGood: boolean }[] = [];
    return (x, i) => {
      const loss = train(x).itemSync();
      log.push({ i, loss, isGood: loss > 0 });
      const good = log.filter((each) => each.isGood).length;
      return [good, log.find((each) => each.i === i - 1)?.loss, log.some((each) => each.loss > 2)];
    };
  },
  'a Set before the ops': (train) => {
    const seen = new Set<number>();
    return (x, i) => {
      seen.add(i % 9).add(i);
      return [train(x), seen.size];
    };
  },
};

const calls = 24;

function run(step: Step): unknown[] {
  seed(1);
  return Array.from({ length: calls }, (_, i) => {
    const result = step(randn([4]), i);
    return JSON.stringify(result, (_key, value: unknown) =>
      value instanceof Object && 'tolist' in value ? (value as Tensor).tolist() : value,
    );
  });
}

function training(): (x: Tensor) => Tensor {
  const w = tensor([0.5, -1, 2, 0.25]).requiresGrad_();
  return (x) => {
    const loss = x.mul(w).tanh().sum();
    loss.backward();
    noGrad(() => w.sub_(w.grad!.mul(0.1)));
    w.grad = null;
    return loss.detach();
  };
}

describe('bookkeeping', () => {
  it.each(Object.entries(cases))('%s', (_name, create) => {
    const captured = toStatic(create(training()));
    expect(run(captured)).toEqual(run(create(training())));
    const { translations, fallbacks, kernels } = captured.stats();
    expect(fallbacks).toEqual([]);
    expect(kernels.eager).toBe(0);
    expect(translations).toBeLessThanOrEqual(12);
  });

  it.each(['a median', 'rows of a table', 'a ring buffer'])(
    '%s, where losses are part of the program',
    (name) => {
      const create = cases[name]!;
      const captured = toStatic(create(training()), { capture: 'auto' });
      expect(run(captured)).toEqual(run(create(training())));
      const { fallbacks, kernels } = captured.stats();
      expect(fallbacks).toEqual([]);
      expect(kernels.eager).toBe(0);
    },
  );
});

describe('ops after text of a changing number', () => {
  const logs: string[] = [];
  const layers = [1, 2, 3].map((k) => (x: Tensor) => x.mul(k).tanh());
  const model = { forward: (x: Tensor) => layers.reduce((y, layer) => layer(y), x) };
  const optimizer = { scale: tensor([1, 2, 3]), step: () => noGrad(() => optimizer.scale.add_(1)) };

  it.each(
    Object.entries<Step>({
      'in a callback': (x, i) => {
        let y = x;
        layers.forEach((layer) => {
          logs.push((i * 1.5).toFixed(2));
          y = layer(y);
        });
        return y;
      },
      'in a function without tensor arguments': (x, i) => {
        logs.push((i * 1.5).toFixed(2));
        optimizer.step();
        return x.mul(optimizer.scale);
      },
      'in a method': (x, i) => {
        logs.push((i * 1.5).toFixed(2));
        return model.forward(x);
      },
      'in the caller': (x, i) => {
        const note = () => logs.push((i * 1.5).toFixed(2).padStart(9));
        note();
        return x.add(logs.length).tanh();
      },
    }),
  )('%s are in graphs', (_name, step) => {
    const captured = toStatic((x: Tensor, i: number) => step(x, i) as Tensor);
    const begin = () => {
      seed(2);
      logs.length = 0;
      optimizer.scale.copy_(tensor([1, 2, 3]));
    };
    const results = (fn: Step) => {
      begin();
      return Array.from({ length: calls }, (_, i) => (fn(randn([3]), i) as Tensor).tolist());
    };
    expect([results(captured), [...logs]]).toEqual([results(step), logs]);
    expect(captured.stats().kernels.eager).toBe(0);
    expect(captured.stats().fallbacks).toEqual([]);
  });
});
