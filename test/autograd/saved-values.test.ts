import { describe, expect, it } from 'vitest';
import { OpNode } from '../../runtime/autograd/op-node.ts';
import { conv2d } from '../../runtime/ops/convolution/conv.ts';
import { maxPool2d } from '../../runtime/ops/convolution/max-pool.ts';
import { crossEntropy } from '../../runtime/ops/loss/class-losses.ts';
import { linear } from '../../runtime/ops/products/matmul.ts';
import { keep, tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, spread, type Tensor, tensor } from '../ops/eager.ts';

/** 4 KiB, so that nothing is lost in alignment. */
const size = 1024;
const bytes = 4 * size;
const leaf = () => tensor(spread([size]), { requiresGrad: true });

/** Names of what the node of `x` keeps data of. */
function savedData(x: Tensor): string[] {
  const node = x.gradEdge!.node;
  if (!(node instanceof OpNode)) return expect.fail('not an op node');
  return [...node.saved].filter(([, value]) => value.holder).map(([name]) => name);
}

describe('an op keeps what its gradient reads, and no more', () => {
  it('add keeps no data of either operand', () => {
    tidy(() => {
      const [x, y] = [leaf(), leaf()];
      const before = allocated();
      const z = x.add(y);
      expect(savedData(z)).toEqual([]);
      expect([x.holder!.owners, y.holder!.owners, z.holder!.owners]).toEqual([1, 1, 1]);
      expect(allocated() - before).toBe(bytes);
      const sum = z.sum();
      z.dispose();
      expect(allocated() - before).toBe(64);
      sum.backward();
      expect(allocated() - before).toBe(64 + 2 * bytes);
    });
  });

  it('relu keeps its output alone', () => {
    tidy(() => {
      const x = leaf();
      const y = x.mul(2);
      const z = y.relu();
      expect(savedData(z)).toEqual(['out']);
      expect([y.holder!.owners, z.holder!.owners]).toEqual([1, 2]);
      const before = allocated();
      y.dispose();
      expect(before - allocated()).toBe(bytes);
      z.dispose();
      expect(before - allocated()).toBe(2 * bytes);
    });
  });

  it('mul keeps an operand only for the other one that needs a gradient', () => {
    tidy(() => {
      const x = leaf();
      const constant = tensor(spread([size]));
      expect(savedData(x.mul(constant))).toEqual(['y']);
      expect(savedData(constant.mul(x))).toEqual(['x']);
      expect(savedData(x.mul(x)).sort()).toEqual(['x', 'y']);
      // The handle, and one owner per saved value: no bytes of their own.
      expect(x.holder!.owners).toBe(1 + 2);
    });
  });

  it('nothing is kept, or counted, without gradients', () => {
    tidy(() => {
      const x = tensor(spread([size]));
      const y = x.mul(x).exp();
      expect(y.gradEdge).toBe(null);
      expect(y.holder!.owners).toBe(1);
    });
  });

  it.each<[string, (x: Tensor) => Tensor, string[]]>([
    ['exp', (x) => x.exp(), ['out']],
    ['log', (x) => x.log(), ['x']],
    ['tanh', (x) => x.tanh(), ['out']],
    ['neg', (x) => x.neg(), []],
    ['sum', (x) => x.sum(), []],
    ['reshape', (x) => x.reshape([32, 32]), []],
    ['narrow', (x) => x.narrow(0, 1, 5), []],
    ['softmax', (x) => x.softmax(), ['out']],
    ['max', (x) => x.max(), ['x', 'out']],
    ['maxPool2d', (x) => maxPool2d(x.reshape([1, 1, 32, 32]), 2), ['out1']],
  ])('%s keeps %s', (_name, run, expected) => {
    tidy(() => expect(savedData(run(leaf())).sort()).toEqual([...expected].sort()));
  });

  it('views share one holder; the last handle frees it', () => {
    const before = allocated();
    const x = leaf();
    const view = x.reshape([32, 32]).transpose(0, 1);
    expect(view.holder).toBe(x.holder);
    x.dispose();
    expect(allocated() - before).toBe(bytes);
    view.dispose();
    // The reshape's handle was never disposed.
    expect(allocated() - before).toBe(bytes);
  });
});

describe('saved values are given back', () => {
  const model = () => {
    const w1 = keep(tensor(spread([8, 1, 3, 3]), { shape: [8, 1, 3, 3], requiresGrad: true }));
    const w2 = keep(tensor(spread([10, 288]), { shape: [10, 288], requiresGrad: true }));
    const x = keep(tensor(spread([4, 1, 14, 14]), { shape: [4, 1, 14, 14] }));
    const labels = keep(tensor(Int32Array.of(1, 2, 3, 4)));
    return { w1, w2, x, labels };
  };
  const lossOf = ({ w1, w2, x, labels }: ReturnType<typeof model>) =>
    tidy(() => {
      const hidden = maxPool2d(conv2d(x, w1).relu(), 2).flatten(1);
      return crossEntropy(linear(hidden, w2), labels);
    });

  it('when the loss is disposed without backward', () => {
    const parts = model();
    const before = allocated();
    const loss = lossOf(parts);
    expect(allocated() - before).toBeGreaterThan(4 * 8 * 12 * 12 * 4);
    loss.dispose();
    expect(allocated()).toBe(before);
    for (const part of Object.values(parts)) part.dispose();
  });

  it('when backward has run; the gradients remain', () => {
    const parts = model();
    const before = allocated();
    const loss = lossOf(parts);
    loss.backward();
    const gradients = [parts.w1, parts.w2].map(({ grad }) => grad!);
    const own = gradients.map((each) => Math.ceil((4 * each.numel()) / 64) * 64);
    expect(allocated() - before).toBe(64 + own[0]! + own[1]!);
    loss.dispose();
    for (const gradient of gradients) gradient.dispose();
    expect(allocated()).toBe(before);
    for (const part of Object.values(parts)) part.dispose();
  });

  it('as each node has run, not at the end', () => {
    tidy(() => {
      const x = leaf();
      const y = tidy(() => x.exp().exp().exp().exp().sum());
      const before = allocated();
      y.backward();
      // Four saved outputs went, x.grad came.
      expect(allocated() - before).toBe(-4 * bytes + bytes);
      x.grad!.dispose();
    });
  });

  it('of a branch that leads nowhere, when its handle goes', () => {
    tidy(() => {
      const x = leaf();
      const before = allocated();
      const kept = x.exp();
      const branch = tidy(() => x.tanh().exp());
      branch.dispose();
      expect(allocated() - before).toBe(bytes);
      expect(savedData(kept)).toEqual(['out']);
    });
  });
});
