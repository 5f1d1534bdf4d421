import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  ArgumentError,
  CaptureError,
  crossEntropy,
  DataError,
  DTypeError,
  deviceGuard,
  grad,
  type LoadedProgram,
  load,
  loadProgram,
  memory,
  nn,
  noGrad,
  ones,
  optim,
  randn,
  type Savable,
  ShapeError,
  save,
  seed,
  type Tensor,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { bits } from './exercise.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-save-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('tensors and plain data', () => {
  it('come back bit by bit, of every dtype and layout', async () => {
    const base = randn([4, 6]);
    const value = {
      dtypes: (
        ['bool', 'uint8', 'int32', 'float16', 'bfloat16', 'float32', 'float64'] as const
      ).map((dtype) => tensor([0, 1, 1], { dtype })),
      views: [base, base.transpose(0, 1), base.narrow(1, 2, 3)],
      empty: ones([0, 3]),
      leaf: tensor([1]).requiresGrad_(),
      numbers: [0, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-300],
      rest: new Map<Savable, Savable>([['a', new Set([1, null, undefined, 12n])]]),
      ['__proto__']: 'a key like any other',
    };
    const found = (await load(await save(value))) as typeof value;
    expect(bits({ ...found, rest: 0 })).toEqual(bits({ ...value, rest: 0 }));
    expect(found.rest).toEqual(value.rest);
    expect(Object.keys(found)).toEqual(Object.keys(value));
    const [again, , part] = found.views;
    again!.fill_(3);
    expect([...part!.dataSync()]).toEqual(new Array(12).fill(3));
  });

  it('are the state of a model and its optimizer', async () => {
    const path = join(folder, 'checkpoint');
    const make = () => {
      const model = new nn.Linear(3, 1);
      return { model, optimizer: new optim.Adam(model.parameters(), { lr: 0.1 }) };
    };
    const step = ({ model, optimizer }: ReturnType<typeof make>) => {
      optimizer.zeroGrad();
      model
        .forward(ones([2, 3]))
        .square()
        .mean()
        .backward();
      optimizer.step();
    };
    const one = make();
    for (let i = 0; i < 3; i++) step(one);
    const state = { model: one.model.stateDict(), optimizer: one.optimizer.stateDict(), epoch: 3 };
    await save(state as never, path);
    const other = make();
    const loaded = (await load(path)) as typeof state;
    other.model.loadStateDict(loaded.model);
    other.optimizer.loadStateDict(loaded.optimizer);
    for (let i = 0; i < 2; i++) for (const each of [one, other]) step(each);
    expect(bits(other.model.stateDict())).toEqual(bits(one.model.stateDict()));
    expect(readdirSync(folder)).toEqual(['checkpoint']);
  });

  it('names what is no data', async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    await expect(save({ a: [() => 1] } as never)).rejects.toThrow(/value\/a\/0[\s\S]*a function/);
    await expect(save({ a: new Date() } as never)).rejects.toThrow(/object of a class/);
    await expect(save(circle as never)).rejects.toThrow(ArgumentError);
    const gone = tensor([1]);
    gone.dispose();
    await expect(save([gone])).rejects.toThrow(/disposed/);
    await expect(load(join(folder, 'nowhere'))).rejects.toThrow(DataError);
    await expect(save([1], join(folder, 'no/such/folder'))).rejects.toThrow(DataError);
  });
});

describe('a loaded program', () => {
  const net = toStatic((x: Tensor, w: { scale: Tensor }) => x.mul(w.scale).sum(1), {
    fullGraph: true,
    inputSpec: [
      tensorSpec(['batch', { name: 'width', min: 2, max: 4 }], 'float32', 'x'),
      { scale: tensorSpec(['width']) },
    ],
  });

  it('checks its arguments as the specification and the saved sizes say', async () => {
    tidy(() => {
      for (const batch of [2, 3, 5]) net(ones([batch, 3]), { scale: ones([3]) });
    });
    const program = await loadProgram(await save(net));
    const call = (x: Tensor, scale: Tensor) => tidy(() => void program(x, { scale }));
    for (const batch of [2, 3, 5]) call(ones([batch, 3]), ones([3]));
    expect(() => call(ones([2, 3]), ones([4]))).toThrow(
      /argument 1\.scale[\s\S]*'width' is 3 in argument 0/,
    );
    expect(() => call(ones([2, 5]), ones([5]))).toThrow(ShapeError);
    expect(() => call(ones([2, 3], { dtype: 'float64' }), ones([3]))).toThrow(DTypeError);
    expect(() => program(ones([2, 3]), [])).toThrow(ArgumentError);
    // No call had this size: the file knows the program for every one of the specification.
    call(ones([7, 3]), ones([3]));
    program.dispose();
  });

  it('trains on, is saved again, and gives its memory back', async () => {
    const before = memory.stats('cpu').allocated;
    seed(2);
    const layer = new nn.Linear(2, 1);
    const f = toStatic((x: Tensor) => layer.forward(x).tanh().mean(), { fullGraph: true });
    const x = tensor([[1, 2]]);
    tidy(() => void f(x));
    const program = await loadProgram(await save(f));
    const train = (run: (x: Tensor) => unknown, parameters: Tensor[]) => {
      const optimizer = new optim.SGD(parameters, { lr: 0.5 });
      for (let i = 0; i < 3; i++) {
        tidy(() => {
          optimizer.zeroGrad();
          (run(x) as Tensor).backward();
          optimizer.step();
        });
      }
      optimizer.zeroGrad();
    };
    train(f, layer.parameters());
    train(program as never, program.parameters());
    expect(bits(Object.values(program.state()))).toEqual(bits([layer.weight, layer.bias]));
    const again = await loadProgram(await save(program));
    tidy(() => expect(bits(again(x))).toEqual(bits(f(x))));
    noGrad(() => tidy(() => expect((again(x) as Tensor).requiresGrad).toBe(false)));
    for (const each of [...layer.parameters(), x]) each.dispose();
    program.dispose();
    again.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('has one entry for a property that it reads and writes on two paths', async () => {
    seed(4);
    const layer = new nn.Linear(2, 1);
    const optimizer = new optim.SGD(layer.parameters(), { lr: 0.5 });
    const schedule = new optim.CosineAnnealingLR(optimizer, 10);
    const step = toStatic(
      (x: Tensor) => {
        const loss = layer.forward(x).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        schedule.step();
        return loss;
      },
      { fullGraph: true },
    );
    const x = tensor([[1, 2]]);
    for (let i = 0; i < 3; i++) step(x).dispose();
    const program = await loadProgram(await save(step));
    for (let i = 0; i < 8; i++) {
      const [own, loaded] = [step(x), program(x) as Tensor];
      expect(bits(loaded)).toEqual(bits(own));
      for (const each of [own, loaded]) each.dispose();
    }
    for (const each of [layer, program, x]) each.dispose();
  });

  it('has one entry for a variable that it reads and writes', async () => {
    const functions: Record<string, () => (x: Tensor) => unknown> = {
      'a number': () => {
        let count = 1;
        return (x) => {
          count += 0.5;
          return [x.mul(count), count];
        };
      },
      'a whole number': () => {
        let count = 0;
        return (x) => x.mul(++count);
      },
      'a tensor': () => {
        let last = ones([2]);
        return (x) => {
          last = last.add(x);
          return last.mul(2);
        };
      },
      'a number that inner functions share': () => {
        let count = 1;
        const next = () => ++count;
        return (x) => x.mul(next()).add(count);
      },
    };
    const x = tensor([1, 2]);
    for (const [name, make] of Object.entries(functions)) {
      const f = toStatic(make(), { fullGraph: true });
      for (let i = 0; i < 4; i++) f(x);
      const program = await loadProgram(await save(f));
      for (let i = 0; i < 4; i++) {
        expect(bits([program(x)] as never), name).toEqual(bits([f(x)] as never));
      }
    }
  });

  it('has state in the layout that its plans read and write', async () => {
    const layouts: Record<string, (base: Tensor) => Tensor> = {
      transposed: (base) => base.t(),
      columns: (base) => base.narrow(1, 2, 3),
      'every second': (base) => base.slice(0, 1, null, 2).slice(1, 0, null, 2),
      repeated: (base) => base.narrow(0, 1, 1).expand([3, 6]),
      windows: (base) => base.unfold(1, 3, 1),
      'a diagonal': (base) => base.diagonal(),
      'one element': (base) => base.narrow(0, 2, 1).narrow(1, 3, 1),
    };
    for (const [name, layout] of Object.entries(layouts)) {
      const state = layout(randn([4, 6]));
      const f = toStatic(
        (x: Tensor) => {
          if (name !== 'repeated' && name !== 'windows') state.add_(x);
          return [state.mul(x), state];
        },
        { fullGraph: true },
      );
      const x = tensor(0.5);
      f(x);
      const program = await loadProgram(await save(f));
      for (let i = 0; i < 2; i++) {
        const [own, loaded] = [f(x), program(x) as Tensor[]];
        expect(bits(loaded as never), name).toEqual(bits(own as never));
        expect(loaded[1]!.strides, name).toEqual(own[1]!.strides);
      }
    }
  });

  it('runs on the meta device, for shapes and bytes alone', async () => {
    const f = toStatic((x: Tensor) => x.matmul(x).relu(), { fullGraph: true });
    tidy(() => void f(ones([8, 8])));
    const program = await loadProgram(await save(f), { device: 'meta' });
    deviceGuard('meta', () => {
      const y = program(ones([8, 8])) as Tensor;
      expect([y.device.name, y.shape]).toEqual(['meta', [8, 8]]);
      y.dispose();
    });
    expect(() => tidy(() => program(ones([8, 8])))).toThrow(/on cpu[\s\S]*on meta/);
  });

  it('refuses gradients that it has no program for', async () => {
    const f = toStatic((x: Tensor) => x.mul(2), { fullGraph: true });
    tidy(() => void f(ones([2])));
    const program = await loadProgram(await save(f));
    expect(() => tidy(() => program(ones([2]).requiresGrad_()))).toThrow(/gives no gradient/);
    noGrad(() => tidy(() => void program(ones([2]).requiresGrad_())));
  });

  it('throws where a check of the user fails, with its line', async () => {
    const f = toStatic(
      (x: Tensor) => {
        if (x.isnan().any().itemSync()) throw new RangeError('no number');
        return x.log();
      },
      { fullGraph: true },
    );
    tidy(() => void f(ones([2])));
    const program = await loadProgram(await save(f));
    expect(() => tidy(() => program(tensor([1, Number.NaN])))).toThrow(
      /check inside a program has failed[\s\S]*save-load\.test\.ts:\d+/,
    );
  });

  it('prints its programs, with lines and without folders', async () => {
    const program = await loadProgram(await save(net));
    expect(program.programs().join('\n')).toMatch(
      /= fused\(mul·.*\) %0, %\d+.* +# save-load\.test\.ts:\d+/,
    );
    expect(new TextDecoder().decode(await save(net))).not.toContain(import.meta.dirname);
  });
});

describe('what can not be saved', () => {
  const full = { fullGraph: true };
  const called = (fn: (...args: never[]) => unknown, ...args: unknown[]) => {
    const captured = toStatic(fn, full) as unknown as (...args: unknown[]) => unknown;
    tidy(() => void captured(...args));
    return captured;
  };

  it.each<[string, () => unknown, RegExp]>([
    ['a function that was not called', () => toStatic((x: Tensor) => x, full), /not called yet/],
    [
      'a graph that breaks',
      () => {
        const f = toStatic((x: Tensor) => (x.sum().itemSync() > 0 ? x.mul(2) : x));
        tidy(() => void f(ones([2])));
        return f;
      },
      /its graph ends/,
    ],
    [
      'a function among the results',
      () => called((x: Tensor) => [x, () => x], ones([1])),
      /closure/,
    ],
    [
      'a function among the arguments',
      () =>
        called(
          (x: Tensor, f: (x: Tensor) => Tensor) => f(x),
          ones([1]),
          (x: Tensor) => x.mul(2),
        ),
      /relies on/,
    ],
    ['a module that is not captured', () => new nn.Linear(1, 1), /not captured/],
  ])('%s', async (_what, make, message) => {
    await expect(save(make() as never)).rejects.toThrow(CaptureError);
    await expect(save(make() as never)).rejects.toThrow(message);
  });
});

describe('a loaded program that can not go on', () => {
  const reload = async (f: Parameters<typeof save>[0]) =>
    (await load(await save(f))) as LoadedProgram;

  it('after a kernel has refused its values everything is as before', async () => {
    const step = toStatic((count: Tensor, x: Tensor, labels: Tensor) => {
      count.add_(1);
      return crossEntropy(x.mul(count), labels);
    });
    const labels = (...values: number[]) => tensor(new Int32Array(values));
    const x = tensor([0.5, 1, -1, 2], { shape: [2, 2] });
    step(tensor([1, 10]), x, labels(0, 1));
    const loaded = await reload(step);
    const count = tensor([1, 10]);
    const before = memory.stats('cpu').allocated;
    tidy(() => expect(() => loaded(count, x, labels(0, 7))).toThrow(/label 7/));
    expect([...count.dataSync()]).toEqual([1, 10]);
    expect(memory.stats('cpu').allocated).toBe(before);
    tidy(() => loaded(count, x, labels(0, 1)));
    expect([...count.dataSync()]).toEqual([2, 11]);
  });

  it('createGraph: the error says what to do, and an ordinary backward still comes through', async () => {
    const f = toStatic((x: Tensor) => x.exp().mul(x).sum());
    f(ones([2]).requiresGrad_());
    const loaded = await reload(f);
    const x = tensor([0.5, 1]).requiresGrad_();
    const y = loaded(x) as Tensor;
    expect(() => grad(y, [x], { createGraph: true })).toThrow(/loaded from a file/);
    const again = tensor([0.5, 1]).requiresGrad_();
    expect(bits(grad(y, [x])[0]!)).toEqual(bits(grad(f(again), [again])[0]!));
  });
});
