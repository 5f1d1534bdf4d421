import { describe, expect, it } from 'vitest';
import { utils } from '../../runtime/nn/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

function withGradients(...gradients: number[][]): Tensor[] {
  return gradients.map((values) => {
    const x = tensor(values, { requiresGrad: true });
    x.grad = tensor(values);
    return x;
  });
}

const gradients = (parameters: readonly Tensor[]) =>
  parameters.map(({ grad }) => [...grad!.dataSync()]);

describe('clipGradNorm_', () => {
  it('leaves small gradients alone, and those without', () => {
    tidy(() => {
      const parameters = withGradients([3], [4]);
      parameters.push(tensor([1], { requiresGrad: true }));
      expect(utils.clipGradNorm_(parameters, 6).itemSync()).toBe(5);
      expect(gradients(parameters.slice(0, 2))).toEqual([[3], [4]]);
      expect(() => utils.clipGradNorm_(parameters[2]!, 1)).toThrow('no parameter has a gradient');
    });
  });

  it('knows other norms', () => {
    tidy(() => {
      const norm = (normType: number) =>
        utils.clipGradNorm_(withGradients([3, -4], [12]), 1e9, normType).itemSync();
      expect([norm(1), norm(2), norm(Number.POSITIVE_INFINITY)]).toEqual([19, 13, 12]);
      expect(norm(3)).toBeCloseTo((27 + 64 + 1728) ** (1 / 3), 4);
      expect(() => norm(0)).toThrow('normType = 0');
    });
  });
});

describe('clipGradValue_', () => {
  it('limits each element', () => {
    tidy(() => {
      const parameters = withGradients([3, -0.5], [-4]);
      const before = allocated();
      utils.clipGradValue_(parameters, 1);
      expect(allocated()).toBe(before);
      expect(gradients(parameters)).toEqual([[1, -0.5], [-1]]);
      expect(() => utils.clipGradValue_(parameters, -1)).toThrow('limit = -1');
    });
  });
});
