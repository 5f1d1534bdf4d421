import { describe, expect, it } from 'vitest';
import * as scalar from '../../runtime/device/cpu/scalar/fill.ts';
import { philox } from '../../runtime/random/philox.ts';
import { compute } from '../cpu/samples.ts';

type Words = [number, number, number, number];

const hex = (words: Int32Array) => [...words].map((w) => (w >>> 0).toString(16).padStart(8, '0'));

function draw(counter: Words, key: [number, number]): string[] {
  const out = new Int32Array(4);
  philox(counter, key, out);
  return hex(out);
}

const f32 = (shape: number[]) => [{ dtype: 'float32' as const, shape }];

describe('philox', () => {
  // kat_vectors of Random123 1.09 (the authors' library), philox4x32-10.
  it('gives the published vectors', () => {
    expect(draw([0, 0, 0, 0], [0, 0])).toEqual(['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']);
    expect(draw([-1, -1, -1, -1], [-1, -1])).toEqual([
      '408f276d',
      '41c83b0e',
      'a20bc7c6',
      '6d5451fd',
    ]);
    expect(
      draw([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
    ).toEqual(['d16cfe09', '94fdcceb', '5001e420', '24126ea1']);
  });
});

describe('uniform and normal', () => {
  it('draws the same numbers in WebAssembly and in JavaScript', () => {
    const cases = [
      [0, 0, 40],
      [42, 7, 33],
      [2 ** 40 + 3, 2 ** 34 - 6, 21],
      [5, 1, 2],
      [5, 3, 0],
      [-9, 2, 9],
    ] as const;
    for (const [seed, offset, size] of cases) {
      const attrs = { seed, offset };
      for (const name of ['uniform', 'normal'] as const) {
        const fallback = name === 'uniform' ? scalar.uniform : scalar.normal;
        expect(compute(name, [], f32([size]), attrs)).toEqual(
          compute(fallback, [], f32([size]), attrs),
        );
      }
    }
  });

  it('makes an element depend only on seed and place in the stream', () => {
    for (const kernel of ['uniform', 'normal'] as const) {
      const [all] = compute(kernel, [], f32([50]), { seed: 3, offset: 10 });
      const [part] = compute(kernel, [], f32([9]), { seed: 3, offset: 23 });
      expect(part).toEqual(all!.slice(13, 22));
      const [other] = compute(kernel, [], f32([50]), { seed: 4, offset: 10 });
      expect(other).not.toEqual(all);
    }
  });

  it('has the moments of its distribution', () => {
    const size = 200_000;
    const moments = (values: readonly number[]) => {
      const mean = values.reduce((a, b) => a + b, 0) / size;
      return [mean, values.reduce((a, b) => a + (b - mean) ** 2, 0) / size];
    };
    const [uniform] = compute('uniform', [], f32([size]), { seed: 1, offset: 0 });
    expect(uniform!.every((x) => x >= 0 && x < 1)).toBe(true);
    const [mean, variance] = moments(uniform!);
    expect(mean).toBeCloseTo(0.5, 2);
    expect(variance).toBeCloseTo(1 / 12, 2);
    const [normal] = compute('normal', [], f32([size]), { seed: 1, offset: 0 });
    const [center, spread] = moments(normal!);
    expect(center).toBeCloseTo(0, 1);
    expect(spread).toBeCloseTo(1, 1);
  });
});
