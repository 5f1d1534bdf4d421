import { describe, expect, it } from 'vitest';
import { digamma, erfinv, i0, i1, lgamma, tensor, tidy } from '../../runtime/index.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/** Computed with 30 digits: x, then the value at x. */
const exact: readonly (readonly [name: string, fn: (x: Tensor) => Tensor, numbers: number[]])[] = [
  [
    'erfinv',
    erfinv,
    [
      ...[0.1, 0.08885599049425769, 0.5, 0.4769362762044699, 0.99, 1.8213863677184494],
      ...[1 - 1e-9, 4.320005388105362, -1 + 1e-12, -5.042031898572696],
      ...[1 - 2 ** -52, 5.805018683193453, 1 - 2 ** -53, 5.863584748755168],
    ],
  ],
  [
    'lgamma',
    lgamma,
    [
      ...[0.1, 2.252712651734206, 0.75, 0.20328095143129538, 1, 0, 1.25, -0.09827183642181316],
      ...[1.9, -0.03898427592308336, 2, 0, 3.5, 1.2009736023470743, 20, 39.339884187199495],
      ...[1e10, 220258509288.8106, -0.5, 1.2655121234846454, -2.5, -0.05624371649767405],
      ...[1e-310, 713.8013788281542, -3, Infinity, -Number.MAX_VALUE, Infinity],
    ],
  ],
  [
    'digamma',
    digamma,
    [
      ...[0.1, -10.423754940411076, 0.75, -1.0858608797864724, 1, -0.5772156649015329],
      ...[1.25, -0.2274535333762654, 2, 0.42278433509846713, 3.5, 1.103156640645243],
      ...[8.5, 2.08009081757942, 20, 2.970523992242149, -0.5, 0.03648997397857652],
    ],
  ],
  [
    'i0',
    i0,
    [
      ...[1e-9, 1, 0.5, 1.0634833707413236, -2, 2.2795853023360673, 3.5, 7.37820343222548],
      ...[7.99, 423.5842036746737, 8.01, 431.5817860520924, -25, 5774560606.46631],
      ...[100, 1.0737517071310738e42, 712, 2.4684110577627523e307, -Infinity, Infinity],
    ],
  ],
  [
    'i1',
    i1,
    [
      ...[1e-9, 5e-10, 0.5, 0.2578943053908963, -2, -1.590636854637329, 3.5, 6.205834922258365],
      ...[7.99, 396.1152262074013, 8.01, 403.66693999770416, -25, -5657865129.878701],
      ...[100, 1.0683693903381625e42, 712, 2.466677013524615e307, -Infinity, -Infinity],
    ],
  ],
];

describe('special functions of float64 have its precision', () => {
  it.each(exact)('%s', (_name, fn, numbers) => {
    for (let i = 0; i < numbers.length; i += 2) {
      const [x, value] = [numbers[i]!, numbers[i + 1]!];
      const found = tidy(() => fn(tensor([x], { dtype: 'float64' })).itemSync());
      if (found === value) continue;
      const bound = 3e-14 * Math.max(1, Math.abs(value));
      expect(Math.abs(found - value), `of ${x}: ${found}`).toBeLessThan(bound);
    }
  });
});
