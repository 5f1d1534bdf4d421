import { describe, expect, it } from 'vitest';
import { ArgumentError, ShapeError } from '../../runtime/errors/errors.ts';
import {
  buffer,
  Identity,
  Linear,
  Module,
  ModuleDict,
  ModuleList,
  ReLU,
  Sequential,
} from '../../runtime/nn/index.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

class Counter extends Module {
  readonly inner = new Linear(2, 2);
  mean = buffer(zeros([2]));
  scratch = buffer(zeros([5]), { persistent: false });
  cache = zeros([3]);

  override forward(input: Tensor): Tensor {
    return this.inner.forward(input).add(this.mean);
  }
}

const keys = (module: Module) => Object.keys(module.stateDict()).sort();
const values = (x: Tensor) => [...x.dataSync()];

describe('stateDict', () => {
  it('has parameters, frozen ones too, and lasting buffers, by path', () => {
    using module = new Counter();
    module.inner.bias!.requiresGrad_(false);
    expect(keys(module)).toEqual(['inner.bias', 'inner.weight', 'mean']);
    expect(Array.from(module.namedBuffers(), ([name]) => name)).toEqual(['mean', 'scratch']);
    const [mean, scratch] = module.buffers();
    expect([mean === module.mean, scratch === module.scratch]).toEqual([true, true]);
  });

  it('copies into another module, without leaving bytes behind', () => {
    using first = new Counter();
    using second = new Counter();
    first.mean.fill_(7);
    const before = allocated();
    expect(second.loadStateDict(first.stateDict())).toEqual({ missing: [], unexpected: [] });
    expect(allocated()).toBe(before);
    expect(values(second.mean)).toEqual([7, 7]);
    expect(values(second.inner.weight)).toEqual(values(first.inner.weight));
    expect(second.inner.weight.requiresGrad).toBe(true);
  });

  it('names what is missing, unexpected or of another shape, and changes nothing', () => {
    using module = new Linear(2, 1);
    const before = values(module.weight);
    using weight = tensor([[8, 9]]);
    using extra = tensor([1]);
    using wide = tensor([1, 2, 3]);
    expect(() => module.loadStateDict({ weight, extra })).toThrow(ArgumentError);
    expect(() => module.loadStateDict({ weight, extra })).toThrow(
      'missing: bias; unexpected: extra',
    );
    expect(() => module.loadStateDict({ weight, bias: wide })).toThrow(ShapeError);
    expect(() => module.loadStateDict({ weight, bias: wide })).toThrow('bias f32[3]');
    expect(values(module.weight)).toEqual(before);
    const result = module.loadStateDict({ weight, extra }, { strict: false });
    expect(result).toEqual({ missing: ['bias'], unexpected: ['extra'] });
    expect(values(module.weight)).toEqual([8, 9]);
  });

  it('has a shared tensor under each of its names', () => {
    const tied = new Sequential(new Linear(2, 2), new Linear(2, 2));
    const [first, second] = tied.layers as [Linear, Linear];
    second.weight.dispose();
    second.weight = first.weight;
    expect(keys(tied)).toContain('1.weight');
    expect(tied.parameters().length).toBe(3);
    tied.loadStateDict(tied.stateDict());
    tied.dispose();
  });

  it('moves buffers as buffers', () => {
    using module = new Counter();
    module.to('meta');
    expect(keys(module)).toEqual(['inner.bias', 'inner.weight', 'mean']);
    expect([module.mean.device.name, module.mean.requiresGrad]).toEqual(['meta', false]);
  });
});

describe('containers', () => {
  it('ModuleList names its modules by position', () => {
    using list = new ModuleList([new Linear(2, 2), new Linear(2, 2, { bias: false })]);
    list.push(new Linear(2, 1));
    expect(keys(list)).toEqual(['0.bias', '0.weight', '1.weight', '2.bias', '2.weight']);
    expect([list.length, list.at(-1)!.weight.shape]).toEqual([3, [1, 2]]);
    expect([...list].length).toBe(3);
    list.eval();
    expect([...list].some(({ training }) => training)).toBe(false);
    expect(() => list.forward()).toThrow('Module has no method forward');
  });

  it('grow and are read as in PyTorch', () => {
    using list = new ModuleList([new Linear(2, 3)]);
    const [first, second, last] = [new Linear(1, 2), new Linear(3, 4), new Linear(4, 5)];
    list.append(second).extend([last]).insert(0, first).insert(-1, new Linear(4, 4));
    expect(Array.from(list, ({ weight }) => weight.shape)).toEqual([
      [2, 1],
      [3, 2],
      [4, 3],
      [4, 4],
      [5, 4],
    ]);
    using dict = new ModuleDict({ first, last });
    expect([dict.has('first'), dict.has('second')]).toEqual([true, false]);
    expect([...dict.values()]).toEqual([first, last]);
    expect([...dict.entries()]).toEqual([...dict]);
  });

  it('ModuleDict names its modules by key', () => {
    using dict = new ModuleDict<Module>({ first: new Linear(2, 2), act: new ReLU() });
    dict.set('second', new Linear(2, 1));
    expect(keys(dict)).toEqual(['first.bias', 'first.weight', 'second.bias', 'second.weight']);
    expect(dict.delete('act')).toBe(true);
    expect([dict.size, [...dict.keys()]]).toEqual([2, ['first', 'second']]);
    expect(Array.from(dict, ([name]) => name)).toEqual(['first', 'second']);
    expect(() => dict.forward()).toThrow(ArgumentError);
  });

  it('lie in other modules, and Identity does nothing', () => {
    class Model extends Module {
      readonly blocks = new ModuleList([new Linear(2, 2)]);
      readonly last = new Identity();
      override forward(x: Tensor): Tensor {
        for (const block of this.blocks) x = block.forward(x);
        return this.last.forward(x);
      }
    }
    using model = new Model();
    expect(keys(model)).toEqual(['blocks.0.bias', 'blocks.0.weight']);
    const before = allocated();
    tidy(() => expect(model.forward(zeros([1, 2])).shape).toEqual([1, 2]));
    expect(allocated()).toBe(before);
  });

  it('apply reaches submodules before what they are in', () => {
    using model = new Sequential(new ReLU(), new Sequential(new Identity()));
    const seen: string[] = [];
    expect(model.apply((module) => void seen.push(module.constructor.name))).toBe(model);
    expect(seen).toEqual(['Identity', 'Sequential', 'ReLU', 'Sequential']);
  });
});

describe('module hooks', () => {
  it('see and replace inputs and outputs, wherever forward is called', () => {
    tidy(() => {
      using model = new Sequential(new Identity(), new Identity());
      const [first, second] = model.layers as [Identity, Identity];
      const seen: unknown[] = [];
      const before = first.registerForwardPreHook((_module, [x]) => [(x as Tensor).add(1)]);
      first.registerForwardHook((module, inputs, output) => {
        seen.push([module === first, values(inputs[0] as Tensor), values(output as Tensor)]);
        return (output as Tensor).mul(10);
      });
      const x = tensor([1]);
      expect(values(model.forward(x))).toEqual([20]);
      expect(seen).toEqual([[true, [2], [2]]]);
      expect(Object.hasOwn(second, 'forward')).toBe(false);
      before.remove();
      expect(values(model.forward(x))).toEqual([10]);
    });
  });

  it('leave no trace when all are removed', () => {
    using layer = new Linear(2, 2);
    const plain = layer.forward;
    const first = layer.registerForwardHook(() => null);
    const second = layer.registerBackwardHook(() => null);
    expect(layer.forward).not.toBe(plain);
    expect(keys(layer)).toEqual(['bias', 'weight']);
    first.remove();
    second.remove();
    second.remove();
    expect(layer.forward).toBe(plain);
  });

  it('see and replace the gradient of the output', () => {
    const before = allocated();
    tidy(() => {
      using layer = new Linear(2, 1);
      const seen: number[][] = [];
      const hook = layer.registerBackwardHook((_module, gradient) => {
        seen.push(values(gradient));
        return gradient.mul(0);
      });
      tidy(() =>
        layer
          .forward(randn([1, 2]))
          .mul(3)
          .sum()
          .backward(),
      );
      expect(seen).toEqual([[3]]);
      expect(values(layer.bias!.grad!)).toEqual([0]);
      hook.remove();
      layer.zeroGrad();
    });
    expect(allocated()).toBe(before);
  });
});
