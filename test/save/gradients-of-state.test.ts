/** A loaded training step continues where the function was when it was saved, with the gradients that it adds to. */

import { describe, expect, it } from 'vitest';
import {
  type LoadedProgram,
  load,
  memory,
  nn,
  optim,
  randn,
  save,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';

type Model = nn.Linear;
type Body = (model: Model, optimizer: optim.SGD, x: Tensor, y: Tensor) => Tensor;

const loss = (model: Model, x: Tensor, y: Tensor) => {
  const found = model.forward(x).sub(y).square().mean();
  found.backward();
  return found;
};

const steps: Record<string, Body> = {
  'sets gradients to null last': (model, optimizer, x, y) => {
    const found = loss(model, x, y);
    optimizer.step();
    optimizer.zeroGrad();
    return found;
  },
  'sets gradients to null first': (model, optimizer, x, y) => {
    optimizer.zeroGrad();
    const found = loss(model, x, y);
    optimizer.step();
    return found;
  },
  'fills gradients with zeros': (model, optimizer, x, y) => {
    const found = loss(model, x, y);
    optimizer.step();
    for (const { grad } of model.parameters()) grad!.zero_();
    return found;
  },
  'adds to the gradients of the call before': (model, optimizer, x, y) => {
    const found = loss(model, x, y);
    optimizer.step();
    return found;
  },
  'adds to them twice a call': (model, optimizer, x, y) => {
    const found = loss(model, x, y).add(loss(model, y.mul(x), y));
    optimizer.step();
    return found;
  },
  'freezes the model for a gradient by its input, and thaws it': (model, optimizer, x, y) => {
    optimizer.zeroGrad();
    const found = loss(model, x, y);
    model.requiresGrad_(false);
    const input = x.detach().requiresGrad_();
    model.forward(input).sum().backward();
    model.requiresGrad_(true);
    loss(model, input.grad!, y);
    optimizer.step();
    return found;
  },
};

const modes = [{}, { fullGraph: true }, { capture: 'auto' }, { memory: 'cleaned' }] as const;

describe.each(modes)('%o', (options) => {
  it.each(Object.entries(steps))('a step that %s', async (_, body) => {
    seed(3);
    const data = Array.from({ length: 6 }, () => [randn([3, 2]), randn([3, 1])] as const);
    const make = () => {
      seed(1);
      const model = new nn.Linear(2, 1);
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
      return (x: Tensor, y: Tensor) => body(model, optimizer, x, y);
    };
    const eager = make();
    const expected = data.map(([x, y]) => eager(x, y).itemSync());
    const captured = toStatic(make(), options);
    const found = data.slice(0, 2).map(([x, y]) => captured(x, y).itemSync());
    const before = memory.stats('cpu').allocated;
    const loaded = (await load(await save(captured))) as LoadedProgram;
    for (const [x, y] of data.slice(2, 4)) {
      using result = loaded(x, y) as Tensor;
      found.push(result.itemSync());
    }
    // What a loaded program has gone on to is saved again.
    const again = (await load(await save(loaded))) as LoadedProgram;
    for (const [x, y] of data.slice(4)) {
      using result = again(x, y) as Tensor;
      found.push(result.itemSync());
    }
    expect(found).toEqual(expected);
    loaded.dispose();
    again.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });
});

describe('a result of ops that the module keeps', () => {
  class Recurrent extends nn.Module {
    weight = nn.parameter(randn([3, 3]));
    last: Tensor | null = null;

    override forward(x: Tensor): Tensor {
      const product = x.matmul(this.weight);
      this.last = this.last ? product.add(this.last) : product;
      return this.last;
    }
  }

  const saved = async (): Promise<LoadedProgram> => {
    const model = new Recurrent();
    const run = toStatic((x: Tensor) => model.forward(x));
    for (let i = 0; i < 3; i++) run(randn([2, 3]));
    return (await load(await save(run))) as LoadedProgram;
  };

  it('is no parameter of the loaded program', async () => {
    const program = await saved();
    const { weight, last } = Object.fromEntries(
      Object.entries(program.state()).map(([name, each]) => [name.split('.').at(-1), each]),
    );
    expect([last!.requiresGrad, last!.isLeaf]).toEqual([true, false]);
    expect(program.parameters().map((each) => each === weight)).toEqual([true]);
    const bytes = await save(program);
    expect(((await load(bytes)) as LoadedProgram).parameters()).toHaveLength(1);
  });

  it('has no history that a backward could reach', async () => {
    const program = await saved();
    const sum = (program(randn([2, 3])) as Tensor).sum();
    expect(() => sum.backward()).toThrow('a tensor of its state that was a result of ops');
  });
});
