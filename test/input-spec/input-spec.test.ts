/** Conformance 93–94: what the arguments of a captured function must be. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  DTypeError,
  ShapeError,
  type Tensor,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

const f = (x: Tensor, { mask, rest }: { mask: Tensor; rest: Tensor[] }) =>
  x.mul(mask).sum(1).add(rest[0]!);

const captured = toStatic(f, {
  inputSpec: [
    tensorSpec(['batch', 3], 'float32', 'x'),
    { mask: tensorSpec(['batch', { name: 'width', min: 1, max: 8 }]), rest: [tensorSpec([null])] },
  ],
});

const call = (x: Tensor, mask: Tensor, rest: Tensor[]) => tidy(() => captured(x, { mask, rest }));

describe('inputSpec', () => {
  it('lets through what it says, with one trace for all sizes (94)', () => {
    for (const batch of [2, 3, 4, 5, 7]) {
      tidy(() => {
        const [x, mask, bias] = [
          zeros([batch, 3]).add(batch),
          zeros([batch, 3]).add(2),
          zeros([batch]),
        ];
        const expected = [...f(x, { mask, rest: [bias] }).dataSync()];
        expect([...captured(x, { mask, rest: [bias] }).dataSync()]).toEqual(expected);
      });
    }
    // The first size is a constant; the second makes the dimension symbolic.
    expect(captured.stats().translations).toBeLessThanOrEqual(2);
  });

  it('takes one program per specification, and two for a changed host argument (93)', () => {
    const scaled = toStatic((x: Tensor, mode: string) => (mode === 'a' ? x.mul(2) : x.mul(3)), {
      inputSpec: [tensorSpec([2], 'float32')],
    });
    tidy(() => {
      for (const mode of ['a', 'a', 'b', 'a', 'b']) scaled(tensor([1, 2]), mode);
    });
    expect(scaled.stats()).toMatchObject({ translations: 2, graphs: 2 });
  });

  const x = zeros([2, 3]);
  const mask = zeros([2, 3]);
  const rest = [zeros([2])];

  it.each<[string, () => unknown, new (...args: never[]) => Error, RegExp]>([
    ['dtype', () => call(x.to('int32'), mask, rest), DTypeError, /argument 0 \(x\).*i32\[2,3\]/s],
    ['rank', () => call(zeros([2]), mask, rest), ShapeError, /1 dimensions/],
    ['a fixed size', () => call(zeros([2, 4]), mask, rest), ShapeError, /is 4 and not 3/],
    [
      'a size of one name',
      () => call(x, zeros([5, 3]), rest),
      ShapeError,
      /argument 1\.mask.*'batch' is 2 in argument 0/s,
    ],
    ['bounds', () => call(x, zeros([2, 9]), rest), ShapeError, /is 9, outside 1 to 8/],
    ['a structure', () => call(x, mask, []), ArgumentError, /argument 1\.rest.*array of 0/s],
    ['no tensor', () => call([1] as never, mask, rest), ArgumentError, /array of 1/],
    ['no object', () => tidy(() => captured(x, 3 as never)), ArgumentError, /mask, rest/],
  ])('names %s that it does not allow', (_what, body, type, message) => {
    expect(body).toThrow(type);
    expect(body).toThrow(message);
  });
});
