/** What a module takes, returns, keeps and refuses. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { exportModule } from '../../../src/export/index.ts';
import {
  crossEntropy,
  loadProgram,
  nn,
  noGrad,
  optim,
  rand,
  randn,
  save,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../../src/index.ts';
import { type ImportedModule, imported, instanceOf, type ModuleTensor } from './module-instance.ts';

const full = { fullGraph: true } as const;
const dataOf = (value: unknown) => (value as ModuleTensor).data;

/** A classifier's step, called twice. */
function classifier() {
  seed(1);
  const model = new nn.Linear(3, 2);
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const step = toStatic((x: Tensor, y: Tensor) => {
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  }, full);
  const x = randn([4, 3]);
  const y = tensor(Int32Array.of(0, 1, 1, 0));
  for (let i = 0; i < 3; i++) step(x, y);
  return { step, x: x.dataSync(), y: y.dataSync() };
}

function thrown(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describe('arguments', () => {
  it('are typed arrays, or arrays with their shape, of the sizes that were compiled', async () => {
    const { step, x, y } = classifier();
    const model = await instanceOf((await exportModule(step)).code);
    const short = thrown(() => model.run(x.slice(1), y));
    expect(short.name).toBe('ShapeError');
    expect(short.message).toBe(
      'args.0: given Float32Array of 11 elements, expected Float32Array of 12 elements, for float32 [4,3]',
    );
    const turned = thrown(() => model.run({ data: x, shape: [3, 4] }, y));
    expect(turned.name).toBe('ShapeError');
    expect(turned.message).toContain('of 12 elements [3,4]');
    for (const wrong of [Float64Array.from(x), undefined, null, [1, 2]]) {
      expect(thrown(() => model.run(wrong, y)).name).toBe('DTypeError');
    }
    const before = model.state();
    const first = dataOf(model.run({ data: x, shape: [4, 3] }, y));
    model.loadState(before);
    expect(dataOf(model.run(x, y))).toEqual(first);
  });

  it('may lie in objects and arrays, with numbers beside them; so may results', async () => {
    const f = toStatic((given: { x: Tensor; pair: Tensor[] }, by: number) => {
      const sum = given.x.add(given.pair[0]!).mul(by);
      return { sum, both: [sum.t(), given.pair[1]!.mul(by * 2)], name: 'f' };
    }, full);
    const [x, a, b] = [rand([2, 3]), rand([2, 3]), rand([4])];
    for (const by of [2, 3, 4.5]) f({ x, pair: [a, b] }, by);
    const model = await instanceOf((await exportModule(f)).code);
    const own = noGrad(() => f({ x, pair: [a, b] }, 0.3));
    const [one, two, three] = [x, a, b].map((each) => each.dataSync());
    const got = model.run({ x: one, pair: [two, three] }, 0.3) as typeof own;
    expect(got.name).toBe('f');
    expect(dataOf(got.sum)).toEqual(own.sum.dataSync());
    expect(dataOf(got.both[0])).toEqual(own.both[0]!.contiguous().dataSync());
    expect((got.both[0] as unknown as ModuleTensor).shape).toEqual([3, 2]);
    expect(dataOf(got.both[1])).toEqual(own.both[1]!.dataSync());
  });

  it('choose among programs for several sizes, which share the state', async () => {
    seed(5);
    const layer = new nn.Linear(3, 2);
    const f = toStatic((x: Tensor) => layer.forward(x).tanh(), full);
    const inputs = [rand([1, 3]), rand([5, 3])];
    const expected = noGrad(() => inputs.map((x) => f(x).dataSync()));
    const model = await instanceOf((await exportModule(f, { program: 'all' })).code);
    inputs.forEach((x, i) => {
      expect(dataOf(model.run(x.dataSync()))).toEqual(expected[i]);
    });
    expect(thrown(() => model.run(new Float32Array(6))).message).toContain('for float32 [1,3]');
    const one = await instanceOf((await exportModule(f, { program: 0 })).code);
    expect(thrown(() => one.run(inputs[1]!.dataSync())).name).toBe('ShapeError');
  });
});

describe('writes', () => {
  it('to an argument are in its array', async () => {
    const f = toStatic((x: Tensor, y: Tensor) => {
      x.add_(y);
      return x.sum();
    }, full);
    f(tensor([1, 2]), tensor([3, 4]));
    const model = await instanceOf((await exportModule(f)).code);
    const [x, y] = [Float32Array.of(1, 2), Float32Array.of(10, 20)];
    expect(dataOf(model.run(x, y))).toEqual(Float32Array.of(33));
    expect([x, y]).toEqual([Float32Array.of(11, 22), Float32Array.of(10, 20)]);
    const same = thrown(() => model.run(x, x));
    expect(same.name).toBe('ArgumentError');
    expect(same.message).toContain('args.0 is written, and shares memory with args.1');
  });
});

describe('the text of a module', () => {
  it('is no place for the text of a name', async () => {
    const name = 'f\nthrow new Error("run")//';
    const { [name]: f } = { [name]: (x: Tensor) => ({ '`$%': x.mul(2), "a'\n": x }) };
    const compiled = toStatic(f!, full);
    compiled(tensor([1, 2]));
    const model = await instanceOf((await exportModule(compiled)).code);
    const result = model.run(Float32Array.of(1, 2)) as Record<string, unknown>;
    expect(Object.keys(result)).toEqual(['`$%', "a'\n"]);
  });
});

describe('the state', () => {
  it('goes from one instance to another by its names', async () => {
    const { step, x, y } = classifier();
    const { instantiate } = await imported((await exportModule(step)).code);
    const [one, other] = [await instantiate(), await instantiate()];
    for (let i = 0; i < 3; i++) one.run(x, y);
    expect(one.state()).not.toEqual(other.state());
    other.loadState({ ...one.state(), ...one.variables() });
    expect(other.state()).toEqual(one.state());
    expect(dataOf(other.run(x, y))).toEqual(dataOf(one.run(x, y)));
    const [name] = Object.keys(one.state());
    expect(thrown(() => one.loadState({ other: x })).message).toContain('no other');
    expect(thrown(() => one.loadState({ [name!]: x })).name).toBe('ShapeError');
    const [number] = Object.keys(one.variables());
    expect(thrown(() => one.loadState({ [number!]: 'three' })).name).toBe('DTypeError');
  });

  it('stays as it was when a kernel refuses a value', async () => {
    const { step, x } = classifier();
    const model = await instanceOf((await exportModule(step)).code);
    const before = model.state();
    const error = thrown(() => model.run(x, Int32Array.of(0, 1, 2, 0)));
    expect(error.name).toBe('ArgumentError');
    expect(error.message).toContain('a label is not a class: given label 2');
    expect(model.state()).toEqual(before);
  });

  it('is restored when a kernel refuses a value after a write', async () => {
    const table = tensor(Float32Array.of(1, 2, 3));
    const f = toStatic((x: Tensor, i: Tensor) => {
      table.add_(x);
      return table.index(i).sum();
    }, full);
    const x = tensor(Float32Array.of(1, 1, 1));
    for (let k = 0; k < 2; k++) f(x, tensor(Int32Array.of(0, 2)));
    const model = await instanceOf((await exportModule(f)).code);
    const before = model.state();
    expect(thrown(() => model.run(x.dataSync(), Int32Array.of(0, 3))).message).toContain('index 3');
    expect(model.state()).toEqual(before);
    model.run(x.dataSync(), Int32Array.of(0, 1));
    expect(dataOf(model.state()['table'])).toEqual(Float32Array.of(4, 5, 6));
  });

  it('may be what a run returned: recurrent state is replaced', async () => {
    const box = { h: tensor(Float32Array.of(1, 2)), c: tensor(Float32Array.of(3, 4)), n: 0 };
    const f = toStatic((x: Tensor) => {
      [box.h, box.c] = [box.c.mul(x), box.h.add(x)];
      box.n += 1;
      return box.h.sum();
    }, full);
    const x = tensor(Float32Array.of(0.5, 2));
    for (let k = 0; k < 3; k++) f(x);
    const file = await save(f);
    const loaded = await loadProgram(file);
    const model = await instanceOf((await exportModule(file)).code);
    for (let k = 0; k < 5; k++) {
      const own = loaded(x) as Tensor;
      expect(dataOf(model.run(x.dataSync()))[0]).toBe(own.itemSync());
    }
    expect(model.variables()).toEqual(loaded.variables());
    for (const [name, own] of Object.entries(loaded.state())) {
      expect(dataOf(model.state()[name])).toEqual(own.dataSync());
    }
  });

  it('lies beside the module, if that is wanted', async () => {
    const { step, x, y } = classifier();
    const inside = await instanceOf((await exportModule(step)).code);
    const { code, weights } = await exportModule(step, { weights: 'step.bin' });
    const folder = mkdtempSync(join(tmpdir(), 'module-'));
    try {
      writeFileSync(join(folder, 'step.mjs'), code);
      writeFileSync(join(folder, 'step.bin'), weights!);
      const address = pathToFileURL(join(folder, 'step.mjs')).href;
      const { instantiate } = (await import(/* @vite-ignore */ address)) as ImportedModule;
      const [found, given] = [await instantiate(), await instantiate({ weights: weights! })];
      const expected = dataOf(inside.run(x, y));
      expect(dataOf(found.run(x, y))).toEqual(expected);
      expect(dataOf(given.run(x, y))).toEqual(expected);
      const wrong = instantiate({ weights: weights!.slice(1) });
      await expect(wrong).rejects.toThrow(/weights: \d+ bytes, not \d+/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('random numbers', () => {
  it('are those of the seed, from any place in the stream', async () => {
    const f = toStatic(
      () => [rand([3]), randn([7]), rand([2]), randn([5], { dtype: 'float64' })],
      full,
    );
    for (let i = 0; i < 3; i++) f();
    const { instantiate } = await imported((await exportModule(f)).code);
    for (const own of [0, 1, 2 ** 40 + 3]) {
      const model = await instantiate({ seed: own });
      for (let round = 0; round < 3; round++) {
        if (round === 1) model.seed(own);
        if (round < 2) seed(own);
        const expected = f().map((each) => each.dataSync());
        expect((model.run() as unknown[]).map(dataOf)).toEqual(expected);
      }
    }
  });
});

describe('refused by name', () => {
  const refusals: Readonly<Record<string, readonly [() => Promise<unknown>, RegExp]>> = {
    'a loop that depends on data': [
      async () => {
        const f = toStatic((x: Tensor) => {
          let y = x;
          while (y.sum().itemSync() < 10) y = y.mul(2);
          return y;
        }, full);
        f(tensor([1, 2]));
        return exportModule(f);
      },
      /while has no form in a module/,
    ],
    'a view whose place each run computes': [
      async () => {
        const table = rand([8, 2]);
        const f = toStatic((i: number) => table.select(0, i).mul(2), full);
        for (const i of [1, 2, 3, 4]) f(i);
        return exportModule(f);
      },
      /has no form in a module/,
    ],
    'a change to an argument': [
      async () => {
        const f = toStatic((box: { x: Tensor }) => {
          box.x = box.x.mul(2);
          return box.x.sum();
        }, full);
        f({ x: rand([2]) });
        return exportModule(f);
      },
      /args\.0\.x has no form in a module/,
    ],
    'a strided argument': [
      async () => {
        const f = toStatic((x: Tensor) => x.mul(2).sum(1), full);
        f(rand([3, 4]).t());
        return exportModule(f);
      },
      /args\.0 has no form in a module/,
    ],
    'a program that is not there': [
      async () => exportModule(classifier().step, { program: 17 }),
      /nothing to export/,
    ],
  };
  it.each(Object.entries(refusals))('%s', async (_name, [run, message]) => {
    await expect(run()).rejects.toThrow(message);
  });
});
