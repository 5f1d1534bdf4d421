import { describe, expect, it } from 'vitest';
import * as nn from '../../runtime/nn/index.ts';
import { triu } from '../../runtime/ops/arranging/triangles.ts';
import { ones, zeros } from '../../runtime/ops/movement/create.ts';
import { cat } from '../../runtime/ops/movement/joining.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, type Tensor, tensor } from '../ops/eager.ts';

const close = (a: Tensor, b: Tensor, what: string) => {
  expect(a.shape, what).toEqual(b.shape);
  expectClose(a.dataSync(), b.dataSync(), what);
};

describe('MultiheadAttention', () => {
  it('does not look at padding: as if the keys were not there', () => {
    tidy(() => {
      using attention = new nn.MultiheadAttention(4, 2, { batchFirst: true });
      const [q, k] = [randn([2, 3, 4]), randn([2, 5, 4])];
      const keyPaddingMask = tensor([
        [false, false, false, true, true],
        [false, false, false, true, true],
      ]);
      const [masked, weights] = attention.forward(q, k, k, { keyPaddingMask });
      const short = k.narrow(1, 0, 3);
      close(masked, attention.forward(q, short, short)[0], 'output');
      expect(weights!.shape).toEqual([2, 3, 5]);
      expect(weights!.narrow(-1, 3, 2).sum().itemSync()).toBe(0);
    });
  });

  it('a mask of numbers is added, one of truth values closes, also per head', () => {
    tidy(() => {
      using attention = new nn.MultiheadAttention(4, 2);
      const x = randn([3, 2, 4]);
      const future = triu(ones([3, 3], { dtype: 'bool' }), 1);
      const numbers = zeros([3, 3]).maskedFill(future, Number.NEGATIVE_INFINITY);
      const [byTruth] = attention.forward(x, x, x, { attnMask: future });
      close(attention.forward(x, x, x, { attnMask: numbers })[0], byTruth, 'numbers');
      const perHead = future.expand([4, 3, 3]);
      close(attention.forward(x, x, x, { attnMask: perHead })[0], byTruth, 'per head');
      // What comes later doesn't matter to what came before.
      const changed = cat([x.narrow(0, 0, 2), randn([1, 2, 4])], 0);
      const [other] = attention.forward(changed, changed, changed, { attnMask: future });
      close(other.narrow(0, 0, 2), byTruth.narrow(0, 0, 2), 'before');
    });
  });

  it('has projections of their own where keys and values have other sizes', () => {
    tidy(() => {
      using attention = new nn.MultiheadAttention(4, 2, { kdim: 3, vdim: 5, addBiasKv: true });
      expect(Object.keys(attention.stateDict()).sort()).toEqual(
        ['biasK', 'biasV', 'inProjBias', 'kProjWeight', 'outProj.bias', 'outProj.weight']
          .concat(['qProjWeight', 'vProjWeight'])
          .sort(),
      );
      const [output, weights] = attention.forward(
        randn([2, 3, 4]),
        randn([6, 3, 3]),
        randn([6, 3, 5]),
        { averageAttnWeights: false },
      );
      expect([output.shape, weights!.shape]).toEqual([
        [2, 3, 4],
        [3, 2, 2, 7],
      ]);
      expectClose(weights!.sum(-1).dataSync(), Array(12).fill(1), 'sums');
    });
    expect(() => new nn.MultiheadAttention(5, 2)).toThrow('5 features, 2 heads');
  });

  it('answers no weights when nobody needs them, and drops some while training', () => {
    const before = allocated();
    tidy(() => {
      using attention = new nn.MultiheadAttention(4, 2, { dropout: 0.5 });
      const x = randn([3, 2, 4]);
      expect(attention.forward(x, x, x, { needWeights: false })[1]).toBe(null);
      const run = () => [...attention.forward(x, x, x)[0].dataSync()];
      expect(run()).not.toEqual(run());
      attention.eval();
      expect(run()).toEqual(run());
    });
    expect(allocated()).toBe(before);
  });
});

const sizes = { dimFeedforward: 8, dropout: 0, activation: 'gelu' } as const;

describe('transformers', () => {
  it('a decoder layer attends to itself, then to the memory, then goes through two layers', () => {
    for (const normFirst of [false, true]) {
      tidy(() => {
        using layer = new nn.TransformerDecoderLayer(4, 2, { ...sizes, normFirst });
        const [x, memory] = [randn([3, 2, 4]), randn([5, 2, 4])];
        const self = (y: Tensor) => layer.selfAttn.forward(y, y, y)[0];
        const other = (y: Tensor) => layer.multiheadAttn.forward(y, memory, memory)[0];
        const feed = (y: Tensor) => layer.linear2.forward(layer.linear1.forward(y).gelu());
        let y: Tensor = x;
        const parts = [self, other, feed];
        const norms = [layer.norm1, layer.norm2, layer.norm3];
        parts.forEach((part, i) => {
          const norm = norms[i]!;
          y = normFirst ? y.add(part(norm.forward(y))) : norm.forward(y.add(part(y)));
        });
        close(layer.forward(x, memory), y, 'output');
      });
    }
  });

  it('a stack takes no layer, but what makes one, and says so', () => {
    using layer = new nn.TransformerEncoderLayer(4, 2);
    expect(() => new nn.TransformerEncoder(layer as never, 2)).toThrow(
      'new nn.TransformerEncoder(() => new nn.TransformerEncoderLayer(…), layers)',
    );
  });

  it('stacks are their layers, and names are those of PyTorch', () => {
    const before = allocated();
    tidy(() => {
      const make = () => new nn.TransformerEncoderLayer(4, 2, { ...sizes, batchFirst: true });
      using encoder = new nn.TransformerEncoder(make, 2, new nn.LayerNorm(4));
      const x = randn([2, 3, 4]);
      let y: Tensor = x;
      for (const layer of encoder.layers) y = layer.forward(y);
      close(encoder.forward(x), encoder.norm!.forward(y), 'encoder');
      expect(Object.keys(encoder.stateDict())).toContain('layers.1.selfAttn.inProjWeight');
    });
    expect(allocated()).toBe(before);
  });

  it('a whole one translates sources and targets; masks reach their places', () => {
    const before = allocated();
    tidy(() => {
      using model = new nn.Transformer({
        ...sizes,
        dModel: 4,
        nhead: 2,
        numEncoderLayers: 1,
        numDecoderLayers: 2,
      });
      const [source, target] = [randn([5, 2, 4]), randn([3, 2, 4])];
      const future = triu(ones([3, 3], { dtype: 'bool' }), 1);
      const output = model.forward(source, target, { mask: future });
      expect(output.shape).toEqual([3, 2, 4]);
      const first = model.forward(source, target.narrow(0, 0, 1));
      close(output.narrow(0, 0, 1), first, 'the first step looks at itself alone');
      output.sum().backward();
      expect(model.parameters().every(({ grad }) => grad !== null)).toBe(true);
      model.zeroGrad();
    });
    expect(allocated()).toBe(before);
  });
});
