/** Windows, as PyTorch computes them in float64. */

import { expect, it } from 'vitest';
import {
  bartlettWindow,
  blackmanWindow,
  hammingWindow,
  hannWindow,
  kaiserWindow,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const options = { dtype: 'float64' } as const;

const windows: Readonly<Record<string, (length: number, periodic?: boolean) => Tensor>> = {
  hann: (length, periodic) => hannWindow(length, periodic, options),
  hamming: (length, periodic) => hammingWindow(length, periodic, 0.54, 0.46, options),
  blackman: (length, periodic) => blackmanWindow(length, periodic, options),
  bartlett: (length, periodic) => bartlettWindow(length, periodic, options),
  kaiser: (length, periodic) => kaiserWindow(length, periodic, 8, options),
};

const recorded: Readonly<Record<string, readonly [periodic: number[], symmetric: number[]]>> = {
  hann: [
    [0, 0.345491503, 0.904508497, 0.904508497, 0.345491503],
    [0, 0.5, 1, 0.5, 0],
  ],
  hamming: [
    [0.08, 0.397852183, 0.912147817, 0.912147817, 0.397852183],
    [0.08, 0.54, 1, 0.54, 0.08],
  ],
  blackman: [
    [0, 0.200770143, 0.849229857, 0.849229857, 0.200770143],
    [0, 0.34, 1, 0.34, 0],
  ],
  kaiser: [
    [0.002338831, 0.226776841, 0.859802082, 0.859802082, 0.226776841],
    [0.002338831, 0.368972723, 1, 0.368972723, 0.002338831],
  ],
  bartlett: [
    [0, 0.4, 0.8, 0.8, 0.4],
    [0, 0.5, 1, 0.5, 0],
  ],
};

it.each(Object.entries(windows))('%s, periodic and symmetric, also captured', (name, window) => {
  tidy(() => {
    const [periodic, symmetric] = recorded[name]!;
    const values = (own: Tensor) => [...own.dataSync()];
    expect(values(window(5)).map((value) => Math.round(value * 1e9) / 1e9 + 0)).toEqual(periodic);
    expect(values(window(5, false)).map((value) => Math.round(value * 1e9) / 1e9 + 0)).toEqual(
      symmetric,
    );
    expect([0, 1].map((length) => values(window(length)))).toEqual([[], [1]]);
    const captured = toStatic(() => window(7), { fullGraph: true });
    expect(values(captured())).toEqual(values(window(7)));
    expect(() => window(-1)).toThrow(`${name}Window: not a length`);
    expect(() => hannWindow(1, true, { dtype: 'int32' })).toThrow('not a floating-point dtype');
  });
});

it('Kaiser: the shape is 12 by default, or another number', () => {
  tidy(() => {
    const values = (own: Tensor) => Array.from(own.dataSync(), (x) => Math.round(x * 1e9) / 1e9);
    expect(values(kaiserWindow(5, options))).toEqual([
      0.000052773, 0.101719688, 0.792939834, 0.792939834, 0.101719688,
    ]);
    expect(values(kaiserWindow(5, false, 40, options))).toEqual([
      0, 0.005059102, 1, 0.005059102, 0,
    ]);
    expect(values(kaiserWindow(3, false, 0))).toEqual([1, 1, 1]);
    for (const beta of [Number.NaN, Number.POSITIVE_INFINITY, -91])
      expect(() => kaiserWindow(3, false, beta)).toThrow('not a beta');
    expect(() => kaiserWindow(3, false, 701, options)).toThrow('not a beta');
    // Positions are rounded to the dtype, and the window is steep.
    const steps = { float16: 2 ** -11, bfloat16: 2 ** -8, float32: 2 ** -24 };
    for (const [dtype, step] of Object.entries(steps) as [keyof typeof steps, number][])
      for (const beta of [12, 40, 90]) {
        const exact = kaiserWindow(9, false, beta, options).dataSync();
        const found = kaiserWindow(9, false, beta, { dtype }).to('float64').dataSync();
        for (const [i, x] of exact.entries())
          expect(Math.abs(found[i]! - x)).toBeLessThan(beta * step);
      }
  });
});
