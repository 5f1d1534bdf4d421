import { describe, expect, it } from 'vitest';
import type { DType } from '../../runtime/spec/dtype.ts';
import { DTypeError, nn, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

const layers: Readonly<Record<string, () => nn.Module>> = {
  LayerNorm: () => new nn.LayerNorm(4),
  RMSNorm: () => new nn.RMSNorm(4),
  GroupNorm: () => new nn.GroupNorm(2, 4),
  BatchNorm1d: () => new nn.BatchNorm1d(4),
  'BatchNorm1d, evaluated': () => new nn.BatchNorm1d(4).eval(),
  InstanceNorm1d: () => new nn.InstanceNorm1d(4, { affine: true, trackRunningStats: true }),
};

const values = Float32Array.from({ length: 48 }, (_, i) => Math.sin(i * i) * 300);
const input = (dtype: DType, shape: readonly number[]): Tensor =>
  tensor(values, { shape }).to(dtype).requiresGrad_();

function run(layer: nn.Module, x: Tensor): Tensor {
  return (layer as unknown as { forward(x: Tensor): Tensor }).forward(x);
}

const shapeFor = (name: string): number[] =>
  name === 'LayerNorm' || name === 'RMSNorm' ? [12, 4] : [4, 4, 3];

describe.each(Object.entries(layers))('%s', (name, make) => {
  it('rejects an input of another dtype than its weights, and names both', () => {
    tidy(() => {
      const x = input('float64', shapeFor(name));
      expect(() => run(make(), x)).toThrow(DTypeError);
      expect(() => run(make(), x)).toThrow(/f64.*f32/s);
    });
  });

  it.each(['float16', 'bfloat16'] as const)(
    'takes %s beside float32 weights, both ways',
    (half) => {
      tidy(() => {
        const layer = make();
        const x = input(half, shapeFor(name));
        const wide = x.detach().float().requiresGrad_();
        const reference = make();
        const seed = (own: Tensor) =>
          own.detach().mul(0).add(1).mul(x.detach().gt(0).to(own.dtype));
        const out = run(layer, x);
        out.backward(seed(out));
        const expected = run(reference, wide);
        expected.backward(seed(expected));
        expect(out.dtype).toBe(half);
        expect([...out.dataSync()]).toEqual([...expected.to(half).dataSync()]);
        expect(x.grad!.dtype).toBe(half);
        expect([...x.grad!.dataSync()]).toEqual([...wide.grad!.to(half).dataSync()]);
        const pairs = layer
          .parameters()
          .map((own, i) => [own, reference.parameters()[i]!] as const);
        for (const [own, other] of pairs) {
          expect([...own.grad!.dataSync()]).toEqual([...other.grad!.dataSync()]);
        }
        const buffers = layer.buffers().map((own, i) => [own, reference.buffers()[i]!] as const);
        for (const [own, other] of buffers)
          expect([...own.dataSync()]).toEqual([...other.dataSync()]);
        x.grad!.dispose();
        wide.grad!.dispose();
        layer.dispose();
        reference.dispose();
      });
    },
  );

  it('computes the same in a captured function', () => {
    tidy(() => {
      const [layer, other] = [make(), make()];
      const [x, y] = [input('bfloat16', shapeFor(name)), input('bfloat16', shapeFor(name))];
      const captured = toStatic((own: Tensor) => run(layer, own), { fallback: 'error' });
      const [a, b] = [captured(x), run(other, y)];
      expect([...a.dataSync()]).toEqual([...b.dataSync()]);
      a.float().sum().backward();
      b.float().sum().backward();
      expect([...x.grad!.dataSync()]).toEqual([...y.grad!.dataSync()]);
      for (const own of [x, y]) own.grad!.dispose();
      layer.dispose();
      other.dispose();
    });
  });
});
