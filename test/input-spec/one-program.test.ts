/** Conformance 94: with dynamic dimensions one program serves all sizes inside the specification. */

import { describe, expect, it } from 'vitest';
import {
  type DimSpec,
  noGrad,
  ones,
  ShapeError,
  type StaticFunction,
  Tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: any function under test.
type Fn = (...args: any[]) => unknown;

const batch: DimSpec = { name: 'batch', min: 1, max: 64 };

function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value;
  else if (Array.isArray(value)) for (const each of value) yield* tensorsIn(each);
  else if (value && typeof value === 'object') yield* tensorsIn(Object.values(value));
}

/** What a call answers, with the gradients of its arguments. */
function outcome(fn: Fn, args: readonly unknown[]): unknown {
  const plain = (value: unknown): unknown => {
    if (value instanceof Tensor) return [value.dtype, [...value.shape], [...value.dataSync()]];
    if (Array.isArray(value)) return value.map(plain);
    return value;
  };
  const value = fn(...args);
  for (const each of tensorsIn(value)) {
    if (each.requiresGrad) each.sum().backward(undefined, { retainGraph: true });
  }
  return [plain(value), [...tensorsIn(args)].map((each) => each.grad && plain(each.grad))];
}

/** Every size and sign, twice, against eager execution; one trace for all. */
function oneProgram(
  fn: Fn,
  captured: StaticFunction<Fn>,
  make: (n: number, sign: number) => unknown[],
) {
  for (const n of [3, 1, 7, 2, 3, 12]) {
    for (const sign of [1, -1, 0.01]) {
      tidy(() => {
        expect(outcome(captured, make(n, sign))).toEqual(outcome(fn, make(n, sign)));
      });
    }
  }
  const { translations, graphs, breaks } = captured.stats();
  expect({ translations, graphs, breaks }).toEqual({ translations: 1, graphs: 1, breaks: [] });
  expect(captured.programs()).toHaveLength(1);
}

const filled = (n: number, sign: number) => ones([n, 4]).mul(sign).requiresGrad_();
const full = { fullGraph: true, inputSpec: [tensorSpec([batch, 4], 'float32', 'x')] };

describe('one program for all sizes of the specification (94)', () => {
  it('without decisions', () => {
    const fn = (x: Tensor) => x.reshape([-1]).mul(x.shape[0]!).mean();
    oneProgram(fn, toStatic(fn, full), (n, sign) => [filled(n, sign)]);
  });

  it('with branches whose values have the size', () => {
    const fn = (x: Tensor) => {
      let y = x.mul(2);
      let rows = 0;
      if (x.sum().itemSync() > 0) {
        y = y.reshape([4, -1]).exp().reshape([-1, 4]);
        rows = x.shape[0]!;
      } else if (x.shape[0]! > 100) return [x, 0];
      return [y.add(1), rows];
    };
    oneProgram(fn, toStatic(fn, full), (n, sign) => [filled(n, sign)]);
  });

  it('with loops that carry values of the size, and count to it', () => {
    const fn = (x: Tensor) => {
      let y = x;
      let turns = 0;
      while (turns < x.shape[0]! && y.sum().itemSync() < 200) {
        y = y.mul(1.5).add(x.mean(0));
        turns++;
        if (y.max().itemSync() > 20) break;
      }
      return [y, turns];
    };
    oneProgram(fn, toStatic(fn, full), (n, sign) => [filled(n, sign)]);
  });

  it('with decisions inside decisions, checks, and nested arguments of equal sizes', () => {
    const fn = (x: Tensor, { mask, rest }: { mask: Tensor; rest: Tensor[] }) => {
      if (x.isnan().any().itemSync()) throw new RangeError('no number');
      let y = x;
      for (let i = 0; i < 3; i++) {
        if (y.mul(mask).sum().itemSync() > i) {
          let inner = 0;
          while (y.sum().itemSync() < 30 && inner < 4) {
            y = y.add(rest[0]!.unsqueeze(1));
            inner++;
          }
        } else y = y.mul(mask);
      }
      return y;
    };
    const inputSpec = [
      tensorSpec(['n', 4], 'float32'),
      { mask: tensorSpec(['n', 4]), rest: [tensorSpec(['n'])] },
    ];
    const captured = toStatic(fn, { fullGraph: true, inputSpec });
    oneProgram(fn, captured, (n, sign) => [
      filled(n, sign),
      { mask: ones([n, 4]), rest: [ones([n])] },
    ]);
    expect(() => {
      tidy(() => captured(ones([2, 4]), { mask: ones([3, 4]), rest: [ones([2])] }));
    }).toThrow(/argument 1\.mask[\s\S]*dimension 0 is 3, but 'n' is 2 in argument 0, dimension 0/);
  });

  it('with a backward inside the program', () => {
    const fn = (x: Tensor) => {
      let y = x;
      while (y.sum().itemSync() < 20 && y.sum().itemSync() > 0) y = y.mul(2);
      const loss = y.square().mean();
      loss.backward();
      return noGrad(() => loss.detach());
    };
    oneProgram(fn, toStatic(fn, full), (n, sign) => [filled(n, sign)]);
  });

  it('for the first size that comes, also 1, and errors for sizes outside', () => {
    const fn = (x: Tensor) => (x.sum().itemSync() > 0 ? x.mul(2) : x.exp());
    const captured = toStatic(fn, full);
    for (const n of [1, 64, 5]) tidy(() => void captured(filled(n, 1)));
    expect(captured.stats()).toMatchObject({ translations: 1, sizes: 3 });
    expect(() => tidy(() => captured(filled(65, 1)))).toThrow(ShapeError);
    expect(() => tidy(() => captured(filled(0, 1)))).toThrow(
      /argument 0 \(x\)[\s\S]*is 0, outside 1 to 64/,
    );
    expect(captured.stats().translations).toBe(1);
  });
});
