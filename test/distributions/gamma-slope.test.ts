import { expect, it } from 'vitest';
import { gammaSlope } from '../../runtime/ops/random/gamma-slope.ts';
import { tensor, tidy } from '../../src/index.ts';

/** dx/da = −(∂P(a, x)/∂a) / p(a, x), computed with 50 digits by mpmath. */
const slopes: readonly (readonly [a: number, x: number, slope: number])[] = [
  [0.001, 1e-200, 4.59941446666999e-195],
  [0.01, 0.5, 46.67927940515068],
  [0.1, 1e-6, 0.0001339176861832916],
  [0.5, 0.3, 1.009801945948855],
  [0.5, 4.0, 3.20626836721502],
  [1.0, 1.0, 1.173563027224727],
  [2.0, 0.1, 0.1673617380668757],
  [2.0, 9.0, 2.093918264217574],
  [10.0, 4.0, 0.620805447009985],
  [10.0, 10.5, 1.041833618346028],
  [10.0, 30.0, 1.674694116259388],
  [100.0, 95.0, 0.976198311218707],
  [100.0, 160.0, 1.255419164851534],
  [1000.0, 1100.0, 1.048586678561617],
];

it('of a number of a gamma distribution is that of its quantile', () => {
  tidy(() => {
    const alpha = tensor(
      slopes.map(([a]) => a),
      { dtype: 'float64' },
    );
    const x = tensor(
      slopes.map(([, x]) => x),
      { dtype: 'float64' },
    );
    const found = gammaSlope(x, alpha).toArraySync() as number[];
    found.forEach((own, i) => {
      expect(Math.abs(own / slopes[i]![2] - 1)).toBeLessThan(1e-11);
    });
    const small = gammaSlope(x.float(), alpha.float());
    expect(small.dtype).toBe('float32');
    expect(small.sub(gammaSlope(x, alpha)).abs().max().itemSync()).toBeLessThan(1e-5);
    // The two expansions for large shapes meet.
    const both = tensor([999_990, 1_000_010], { dtype: 'float64' });
    const [below, above] = gammaSlope(both.add(2500), both).toArraySync() as number[];
    expect(Math.abs(below! - above!)).toBeLessThan(1e-7);
  });
});

it('of no number of a gamma distribution is NaN, at once', () => {
  tidy(() => {
    const x = tensor([1, 1, Number.NaN, 1 / 0, -1]);
    const shape = tensor([-1e17, Number.NaN, 2, 2, 2]);
    expect(gammaSlope(x, shape).toArraySync()).toEqual(new Array(5).fill(Number.NaN));
  });
});
