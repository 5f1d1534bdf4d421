import { describe, expect, it } from 'vitest';
import {
  Conv2d,
  Flatten,
  Linear,
  MaxPool2d,
  Module,
  parameter,
  ReLU,
  Sequential,
} from '../../runtime/nn/index.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { seed } from '../../runtime/random/seed.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

class Block extends Module {
  readonly branches = [new Linear(2, 3), new Linear(2, 3, { bias: false })];
  readonly head = new Linear(3, 1);
  scale = parameter(tensor([2]));
  mean = zeros([3]);
  readonly label = 'not a tensor';

  override forward(x: Tensor): Tensor {
    let total: Tensor = this.mean;
    for (const branch of this.branches) total = total.add(branch.forward(x));
    return this.head.forward(total).mul(this.scale);
  }
}

const names = (module: Module) => Array.from(module.namedParameters(), ([name]) => name);

describe('Module', () => {
  it('finds parameters in properties, arrays and submodules, by path', () => {
    using block = new Block();
    expect(names(block).sort()).toEqual(
      [
        'branches.0.weight',
        'branches.0.bias',
        'branches.1.weight',
        'head.weight',
        'head.bias',
        'scale',
      ].sort(),
    );
    expect([...block.children()].length).toBe(3);
    expect([...block.modules()].length).toBe(4);
  });

  it('lists a shared parameter or module once', () => {
    using shared = new Linear(2, 2);
    const model = new Sequential(shared, new ReLU(), shared);
    expect(names(model)).toEqual(['0.weight', '0.bias']);
    expect([...model.modules()].length).toBe(3);
    const tied = new Sequential(new Linear(2, 2), new Linear(2, 2));
    const [first, second] = tied.layers as [Linear, Linear];
    second.weight.dispose();
    second.weight = first.weight;
    expect(names(tied)).toEqual(['0.weight', '0.bias', '1.bias']);
    tied.dispose();
  });

  it('results that a module keeps are no parameters', () => {
    using layer = new Linear(2, 2);
    const cache = layer as Linear & { last?: Tensor };
    cache.last = layer.forward(zeros([1, 2]));
    expect(names(layer)).toEqual(['weight', 'bias']);
  });

  it('train and eval reach every module', () => {
    using model = new Sequential(new Linear(2, 2), new Sequential(new ReLU()));
    expect([...model.modules()].every(({ training }) => training)).toBe(true);
    expect(model.eval()).toBe(model);
    expect([...model.modules()].some(({ training }) => training)).toBe(false);
    model.train();
    expect([...model.modules()].every(({ training }) => training)).toBe(true);
  });

  it('zeroGrad and dispose give everything back', () => {
    const before = allocated();
    const block = new Block();
    const made = allocated();
    using x = randn([4, 2]);
    const withInput = allocated();
    tidy(() => block.forward(x).mean().backward());
    expect(allocated()).toBeGreaterThan(withInput);
    for (const tensor of block.parameters()) expect(tensor.grad!.shape).toEqual(tensor.shape);
    block.zeroGrad();
    expect(block.parameters().every(({ grad }) => grad === null)).toBe(true);
    expect(allocated()).toBe(withInput);
    x.dispose();
    expect(allocated()).toBe(made);
    block.dispose();
    expect(allocated()).toBe(before);
  });

  it('moves to a device and back, buffers and shared tensors too', () => {
    const before = allocated();
    const block = new Block();
    const made = allocated();
    block.head.weight.requiresGrad_(false);
    const { length } = block.parameters();
    block.branches[1]!.weight.dispose();
    block.branches[1]!.weight = block.branches[0]!.weight;
    expect(block.to('meta')).toBe(block);
    expect(allocated()).toBe(before);
    expect(block.scale.device.name).toBe('meta');
    expect(block.mean.device.name).toBe('meta');
    expect(block.branches[1]!.weight).toBe(block.branches[0]!.weight);
    expect(block.parameters().length).toBe(length - 1);
    expect(block.parameters().every((tensor) => tensor.device.name === 'meta')).toBe(true);
    expect(made).toBeGreaterThan(before);
    block.dispose();
  });

  it('parameters outlive a tidy around the constructor', () => {
    const before = allocated();
    using layer = tidy(() => new Linear(3, 2));
    expect(layer.weight.disposed).toBe(false);
    layer.dispose();
    expect(allocated()).toBe(before);
  });
});

describe('layers', () => {
  it('start within ±1/√fanIn, by the seed', () => {
    const weights = (value: number) => {
      seed(value);
      using layer = new Conv2d(4, 8, 3, { groups: 2 });
      expect(layer.weight.shape).toEqual([8, 2, 3, 3]);
      expect(layer.bias!.shape).toEqual([8]);
      return [...layer.weight.dataSync(), ...layer.bias!.dataSync()];
    };
    const bound = 1 / Math.sqrt(2 * 9);
    const values = weights(1);
    expect(values.every((value) => Math.abs(value) <= bound)).toBe(true);
    expect(Math.max(...values)).toBeGreaterThan(0.9 * bound);
    expect(Math.min(...values)).toBeLessThan(-0.9 * bound);
    expect(weights(1)).toEqual(values);
    expect(weights(2)).not.toEqual(values);
  });

  it('a convolutional classifier has the expected shapes', () => {
    using model = new Sequential(
      new Conv2d(1, 4, [3, 5], { padding: [1, 2] }),
      new ReLU(),
      new MaxPool2d(2),
      new Conv2d(4, 2, 3, { stride: 2, bias: false }),
      new Flatten(),
      new Linear(2 * 3 * 3, 10),
    );
    using x = zeros([5, 1, 16, 16]);
    using scores = tidy(() => model.forward(x));
    expect(scores.shape).toEqual([5, 10]);
    expect(names(model)).toContain('0.bias');
    expect(names(model)).not.toContain('3.bias');
  });

  it('Linear takes any number of leading dimensions', () => {
    using layer = new Linear(3, 2);
    using x = zeros([4, 5, 3]);
    using y = tidy(() => layer.forward(x));
    expect(y.shape).toEqual([4, 5, 2]);
  });
});
