import { describe, expect, it } from 'vitest';
import { utils } from '../../runtime/nn/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { toStatic } from '../../src/index.ts';
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

describe('getTotalNorm and clipGradsWithNorm_', () => {
  it("give PyTorch's norms, of nothing and of several", () => {
    tidy(() => {
      const norm = (normType?: number) =>
        utils.getTotalNorm([tensor([3, -4]), tensor([12])], normType).itemSync();
      expect([norm(), norm(1), norm(Number.POSITIVE_INFINITY)]).toEqual([13, 19, 12]);
      expect(norm(3)).toBeCloseTo(12.2071, 4);
      expect(utils.getTotalNorm([]).itemSync()).toBe(0);
      expect(utils.getTotalNorm(tensor([3, 4], { requiresGrad: true })).requiresGrad).toBe(false);
      expect(() => norm(-1)).toThrow('getTotalNorm: no such norm');
    });
  });

  it('scale the gradients of two models by their common norm, as one clipGradNorm_ does', () => {
    tidy(() => {
      const one = withGradients([3, -4], [12]);
      const [first, second] = [withGradients([3, -4]), withGradients([12])];
      utils.clipGradNorm_(one, 2);
      const total = utils.getTotalNorm([...first, ...second].map(({ grad }) => grad!));
      const before = allocated();
      utils.clipGradsWithNorm_(first, 2, total);
      utils.clipGradsWithNorm_(second, 2, total);
      expect(allocated()).toBe(before);
      expect(gradients([...first, ...second])).toEqual(gradients(one));
      expect(() => utils.clipGradsWithNorm_(first, 2, 13 as never)).toThrow('clipGradsWithNorm_');
    });
  });

  it('are part of a captured step', () => {
    const step = (x: Tensor) => {
      const weight = tensor([1, -2, 3], { requiresGrad: true });
      weight.mul(x).square().sum().backward();
      const total = utils.getTotalNorm([weight.grad!]);
      utils.clipGradsWithNorm_([weight], 0.5, total);
      return [weight.grad!, total];
    };
    tidy(() => {
      const captured = toStatic(step, { fullGraph: true });
      const [eager, once] = [step, captured].map((run) =>
        run(tensor([2, 0.5, 1])).map((each) => [...each.dataSync()]),
      );
      expect(once).toEqual(eager);
      expect(Math.hypot(...eager![0]!)).toBeCloseTo(0.5, 4);
    });
  });
});
