/** What a method takes, the one that writes in place takes as well, and gives the same numbers. */

import { describe, expect, expectTypeOf, it } from 'vitest';
import type { DType } from '../../runtime/spec/dtype.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Methods, tensorMethods } from '../../runtime/tensor-methods/methods.ts';
import { functionalForm } from '../../src/3-trace/dynamic-shapes/functional-form.ts';
import { allocated, tensor } from '../ops/eager.ts';

type Method = (this: Tensor, ...args: readonly unknown[]) => unknown;

const methods = new Map(tensorMethods.traced.map((own) => [own.name, own as Method]));
const pairs = [...methods].flatMap(([name, inPlace]) => {
  const plain = name.endsWith('_') && methods.get(name.slice(0, -1));
  return plain ? [[name, plain, inPlace] as const] : [];
});

const other = tensor([0.75, 2, -3.5]);
const places = tensor([2, 0, 1], { dtype: 'int32' });
const mask = tensor([true, false, true]);

/** Arguments of all kinds, most of which a method refuses. */
const given: readonly (readonly unknown[])[] = [
  [],
  [0],
  [2],
  [0.5],
  [-1, 3],
  [1, 0.5],
  [null, 1],
  [{ min: 1 }],
  [{ max: other }],
  [null, other],
  [{ decimals: 1 }],
  [{ decimals: 'one' }],
  [{ misspelt: 1 }],
  [other],
  [places],
  [other, 2],
  [other, places],
  [other, { alpha: 2 }],
  [other, { roundingMode: 'floor' }],
  [2, { roundingMode: 'trunc' }],
  [2, { roundingMode: 'nearest' }],
  [other, other, { value: 2 }],
  [0, places, other, { alpha: 2 }],
  [0, places, 3],
  [mask, 3],
  [[places], other],
  [[places], other, { accumulate: true }],
  ['two'],
];

const targets: Readonly<Partial<Record<DType, readonly unknown[]>>> = {
  float32: [0.25, -1.5, 2.345],
  int32: [3, -7, 5],
  bool: [true, false, true],
};

const kinds = { bool: 0, int32: 1, uint8: 1, float16: 2, bfloat16: 2, float32: 2, float64: 2 };

const ofMatrices = ['tril_', 'triu_'];

/** The result; the name of the error that the method throws. */
function outcome(method: Method, target: Tensor, args: readonly unknown[]): Tensor | string {
  try {
    return Reflect.apply(method, target, args) as Tensor;
  } catch (error) {
    return (error as Error).name;
  }
}

describe.each(pairs)('%s', (name, plain, inPlace) => {
  it.each(Object.keys(targets) as DType[])('writes what the plain method returns: %s', (dtype) => {
    const before = allocated();
    const shape = ofMatrices.includes(name) ? [1, 3] : [3];
    let written = 0;
    for (const args of given) {
      tidy(() => {
        const target = () => tensor(targets[dtype] as number[], { dtype, shape });
        const expected = outcome(plain, target(), args);
        const result = outcome(inPlace, target(), args);
        const label = `${name}(${args.map(String).join(', ')})`;
        const functional = outcome(functionalForm(inPlace) as Method, target(), args);
        expect(described(functional), `${label} in a program`).toEqual(described(result));
        const isHeld = expected instanceof Tensor && kinds[expected.dtype as DType] <= kinds[dtype];
        if (!isHeld) {
          // A write that no dtype could hold is refused before the arguments are judged.
          if (expected instanceof Tensor) expect(result, label).toBe('DTypeError');
          else expect(result, label).toMatch(/^(Argument|Shape|DType)Error$/);
          return;
        }
        // Some functions write to floating-point tensors only.
        if (result === 'DTypeError' && kinds[dtype] < 2) return;
        expect(described(result), label).toEqual(described(expected.to(dtype)));
        written += 1;
      });
    }
    if (kinds[dtype] === 2) expect(written, 'arguments taken').toBeGreaterThan(0);
    expect(allocated()).toBe(before);
  });
});

/** Names of methods whose parameters are not all those of the plain method. */
type Lacking = {
  [N in keyof Methods]: N extends `${infer Plain extends keyof Methods}_`
    ? Parameters<Methods[Plain]> extends Parameters<Methods[N]>
      ? never
      : N
    : never;
}[keyof Methods];

it('types have the parameters of the plain methods', () => {
  expectTypeOf<Lacking>().toBeNever();
});

const described = (result: Tensor | string): unknown =>
  result instanceof Tensor ? { dtype: result.dtype, values: result.toArraySync() } : result;
