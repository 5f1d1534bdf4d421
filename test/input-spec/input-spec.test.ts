/** Conformance 93: what the arguments of a captured function must be, and when its programs serve again. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  DeviceError,
  DTypeError,
  deviceGuard,
  type InputSpec,
  noGrad,
  optionalSpec,
  ShapeError,
  type Tensor,
  TostaticError,
  tensorSpec,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

interface Options {
  readonly mask: Tensor;
  readonly rest: Tensor[];
  readonly bias?: Tensor | null;
}

const f = (x: Tensor, { mask, rest, bias }: Options) => {
  const y = x.mul(mask).sum(1).add(rest[0]!);
  return bias ? y.add(bias) : y;
};

const captured = toStatic(f, {
  fullGraph: true,
  inputSpec: [
    tensorSpec(['batch', 3], 'float32', 'x', 'cpu'),
    {
      mask: tensorSpec(['batch', { name: 'width', min: 1, max: 8 }]),
      rest: [tensorSpec([null])],
      bias: optionalSpec(tensorSpec(['batch'], 'float32')),
    },
  ],
});

const call = (x: unknown, mask: unknown, rest: unknown, bias?: unknown) =>
  tidy(() => void captured(x as Tensor, { mask, rest, bias } as Options));

describe('inputSpec', () => {
  it('lets through what it says, with one trace for all sizes', () => {
    for (const batch of [2, 3, 4, 5, 7]) {
      tidy(() => {
        const x = zeros([batch, 3]).add(batch);
        const options = { mask: zeros([batch, 3]).add(2), rest: [zeros([batch])] };
        const expected = [...f(x, options).dataSync()];
        expect([...captured(x, options).dataSync()]).toEqual(expected);
      });
    }
    expect(captured.stats().translations).toBe(1);
  });

  it('lets pass what may be missing, which is a trace of its own', () => {
    const before = captured.stats().translations;
    const [x, mask, rest] = [zeros([2, 3]), zeros([2, 3]), [zeros([2])]];
    for (const bias of [undefined, null]) call(x, mask, rest, bias);
    for (const batch of [2, 4]) {
      call(zeros([batch, 3]), zeros([batch, 3]), [zeros([batch])], zeros([batch]));
    }
    tidy(() => void captured(x, { mask, rest }));
    // With null, with a tensor, and with no property at all.
    expect(captured.stats().translations - before).toBeLessThanOrEqual(3);
  });

  const x = zeros([2, 3]);
  const mask = zeros([2, 3]);
  const rest = [zeros([2])];
  const onMeta = deviceGuard('meta', () => zeros([2, 3]));
  const xSpec = 'a tensor, float32 [batch, 3] on cpu';
  const objectSpec = 'an object with mask, rest, bias';

  it.each<
    [
      what: string,
      body: () => unknown,
      type: new (...args: never[]) => Error,
      path: string,
      given: string,
      expected: string,
    ]
  >([
    [
      'another dtype',
      () => call(x.to('int32'), mask, rest),
      DTypeError,
      'argument 0 (x)',
      'a i32[2,3] tensor',
      xSpec,
    ],
    [
      'another device',
      () => call(onMeta, mask, rest),
      DeviceError,
      'argument 0 (x)',
      'a f32[2,3] tensor on meta',
      xSpec,
    ],
    [
      'another rank',
      () => call(zeros([2]), mask, rest),
      ShapeError,
      'argument 0 (x)',
      'a f32[2] tensor with 1 dimension',
      xSpec,
    ],
    [
      'another fixed size',
      () => call(zeros([2, 4]), mask, rest),
      ShapeError,
      'argument 0 (x)',
      'a f32[2,4] tensor, whose dimension 1 is 4 and not 3',
      xSpec,
    ],
    [
      'a size above its bounds',
      () => call(x, zeros([2, 9]), rest),
      ShapeError,
      'argument 1.mask',
      'a f32[2,9] tensor, whose dimension 1 is 9, outside 1 to 8',
      'a tensor, any dtype [batch, width from 1 to 8]',
    ],
    [
      'a size below its bounds',
      () => call(x, zeros([2, 0]), rest),
      ShapeError,
      'argument 1.mask',
      'a f32[2,0] tensor, whose dimension 1 is 0, outside 1 to 8',
      'a tensor, any dtype [batch, width from 1 to 8]',
    ],
    [
      'two sizes of one name',
      () => call(x, zeros([5, 3]), rest),
      ShapeError,
      'argument 1.mask',
      "a f32[5,3] tensor, whose dimension 0 is 5, but 'batch' is 2 in argument 0 (x), dimension 0",
      'a tensor, any dtype [batch, width from 1 to 8]',
    ],
    [
      'what may be missing, when it is there',
      () => call(x, mask, rest, zeros([3])),
      ShapeError,
      'argument 1.bias',
      "a f32[3] tensor, whose dimension 0 is 3, but 'batch' is 2 in argument 0 (x), dimension 0",
      'a tensor, float32 [batch]',
    ],
    [
      'too few elements',
      () => call(x, mask, []),
      ArgumentError,
      'argument 1.rest',
      'an array of 0',
      'an array of 1',
    ],
    [
      'too many elements',
      () => call(x, mask, [x, x]),
      ArgumentError,
      'argument 1.rest',
      'an array of 2',
      'an array of 1',
    ],
    [
      'no tensor in an array',
      () => call(x, mask, [7]),
      ArgumentError,
      'argument 1.rest[0]',
      'a number, 7',
      'a tensor, any dtype [?]',
    ],
    [
      'an array for a tensor',
      () => call([1], mask, rest),
      ArgumentError,
      'argument 0 (x)',
      'an array of 1',
      xSpec,
    ],
    [
      'a tensor for an array',
      () => call(x, mask, x),
      ArgumentError,
      'argument 1.rest',
      'a f32[2,3] tensor',
      'an array of 1',
    ],
    [
      'a missing property',
      () => call(x, undefined, rest),
      ArgumentError,
      'argument 1.mask',
      'undefined',
      'a tensor, any dtype [batch, width from 1 to 8]',
    ],
    [
      'a property that is not there at all',
      () => captured(x, { mask } as Options),
      ArgumentError,
      'argument 1',
      'an object without rest',
      objectSpec,
    ],
    [
      'a property that is not specified',
      () => captured(x, { mask, rest, scale: 3 } as Options),
      ArgumentError,
      'argument 1',
      'an object that also has scale',
      objectSpec,
    ],
    [
      'a number for an object',
      () => captured(x, 3 as never),
      ArgumentError,
      'argument 1',
      'a number, 3',
      objectSpec,
    ],
    [
      'an array for an object',
      () => captured(x, [mask] as never),
      ArgumentError,
      'argument 1',
      'an array of 1',
      objectSpec,
    ],
    [
      'a Map for an object',
      () => captured(x, new Map() as never),
      ArgumentError,
      'argument 1',
      'a Map of 0',
      objectSpec,
    ],
    [
      'no argument',
      () => (captured as unknown as (x: Tensor) => unknown)(x),
      ArgumentError,
      'argument 1',
      'undefined',
      objectSpec,
    ],
  ])(
    'names %s: path, given, expected, line and remedy',
    (_what, body, type, path, given, expected) => {
      const before = captured.stats().translations;
      const error = errorOf(body);
      expect(error).toBeInstanceOf(type);
      expect(error.message.split('\n')[0]).toBe(`${path} doesn't match its inputSpec`);
      expect(error).toMatchObject({ given, expected });
      expect(error.at?.file).toMatch(/input-spec\.test\.ts$/);
      expect(error.at?.line).toBeGreaterThan(20);
      expect(error.remedy).toMatch(/specification|optionalSpec|tensor\(/);
      expect(captured.stats().translations).toBe(before);
    },
  );

  function errorOf(body: () => unknown): TostaticError {
    try {
      body();
    } catch (error) {
      if (error instanceof TostaticError) return error;
    }
    throw new Error('no error of this package was thrown');
  }

  it.each<[string, unknown, RegExp]>([
    ['a shape where a tensor is meant', [[2, 3]], /inputSpec\[0\]\[0\] is not a specification/],
    [
      'bounds without a size between',
      [tensorSpec([{ min: 3, max: 2 }])],
      /dimension 0.*\n.*"min":3/,
    ],
    ['a size that is none', [tensorSpec([2.5])], /dimension 0.*\n.*2\.5/],
    ['a dtype that is none', [{ x: tensorSpec([2], 'float' as never) }], /inputSpec\[0\]\.x/],
    ['no array', tensorSpec([2]), /no array/],
  ])('is refused at once with %s', (_what, inputSpec, message) => {
    const make = () => toStatic((y: Tensor) => y, { inputSpec: inputSpec as InputSpec[] });
    expect(make).toThrow(ArgumentError);
    expect(make).toThrow(message);
  });

  it('counts arguments of a call from those that are bound', () => {
    const bound = toStatic(
      function scaled(factor: number, y: Tensor) {
        return y.mul(factor);
      }.bind(null, 3),
      { fullGraph: true, inputSpec: [tensorSpec(['n'])] },
    );
    for (const n of [2, 1, 5, 0, 7]) {
      tidy(() => expect([...bound(zeros([n]).add(1)).dataSync()]).toEqual(new Array(n).fill(3)));
    }
    expect(bound.stats().translations).toBe(1);
    expect(() => bound(zeros([2, 2]))).toThrow(/argument 0 doesn't match/);
  });
});

describe('programs are found by specification and host arguments (93)', () => {
  const spec = { fullGraph: true, inputSpec: [tensorSpec(['n', 2], 'float32')] };
  const scaled = (y: Tensor, mode: string, by: number) =>
    mode === 'a' ? y.mul(by) : y.add(y.shape[0]!);

  it('one for one specification, two for a changed host argument', () => {
    const g = toStatic(scaled, spec);
    const run = (n: number, mode: string) =>
      tidy(() => {
        const y = zeros([n, 2]).add(1);
        expect([...g(y, mode, 2).dataSync()]).toEqual([...scaled(y, mode, 2).dataSync()]);
      });
    run(2, 'a');
    expect(g.stats()).toMatchObject({ translations: 1, graphs: 1, sizes: 1 });
    run(2, 'a');
    run(2, 'a');
    expect(g.stats()).toMatchObject({ translations: 1, graphs: 1, sizes: 1 });
    run(5, 'a');
    expect(g.stats()).toMatchObject({ translations: 1, graphs: 1, sizes: 2 });
    run(2, 'b');
    expect(g.stats()).toMatchObject({ translations: 2, graphs: 2, sizes: 3 });
    for (const mode of ['a', 'b', 'a']) run(2, mode);
    expect(g.stats()).toMatchObject({ translations: 2, graphs: 2, sizes: 3 });
  });

  it('two functions of one specification share nothing', () => {
    const [g, h] = [toStatic(scaled, spec), toStatic(scaled, spec)];
    tidy(() => void g(zeros([2, 2]), 'a', 2));
    expect([g.stats().translations, h.stats().translations]).toEqual([1, 0]);
  });

  it('recorded gradients, and a gradient of an argument, are traces of their own', () => {
    const g = toStatic(scaled, spec);
    tidy(() => {
      g(zeros([2, 2]), 'a', 2);
      g(zeros([3, 2]).requiresGrad_(), 'a', 2);
      noGrad(() => g(zeros([4, 2]), 'a', 2));
    });
    expect(g.stats().translations).toBe(3);
  });
});
