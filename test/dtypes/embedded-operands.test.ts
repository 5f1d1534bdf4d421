/**
 * Every method of tensors on operands that lie in the middle of larger tensors, in every dtype: the results are those on
 * operands of their own, and what lies around is neither read nor written.
 */

import { describe, expect, it } from 'vitest';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { full, noGrad, seed, Tensor } from '../../src/index.ts';
import { type Call, calls } from '../errors/calls/calls.ts';
import { argumentsOf } from '../errors/calls/world.ts';
import { shareOfDay } from '../share-of-day.ts';

/** They are asked where their tensor lies, take it away, or answer later. */
const ofLayouts =
  /^\.(asStrided|backwardAsync|contiguous|data|dispose|isContiguous|registerHook|storageOffset|stride|view)$/;

const poisonOf = (dtype: DType): number =>
  dtype === 'bool' ? 1 : dtypes[dtype].floating ? Number.NaN : 77;

const centre = (whole: Tensor, shape: readonly number[]): Tensor =>
  shape.reduce((view, size, dim) => view.narrow(dim, 1, size), whole);

/** A tensor within poison, and the bytes of both. */
class Embedded {
  readonly view: Tensor;
  readonly #whole: Tensor;
  readonly #poison: number;

  constructor(own: Tensor) {
    const { shape, dtype } = own;
    this.#poison = poisonOf(dtype);
    this.#whole = full(
      shape.map((size) => size + 2),
      this.#poison,
      { dtype },
    );
    this.view = centre(this.#whole, shape);
    noGrad(() => this.view.copy_(own));
  }

  /** Whether all that lies around is poison. */
  get isWithinPoison(): boolean {
    const copy = this.#whole.clone();
    noGrad(() => centre(copy, this.view.shape).fill_(this.#poison));
    return bytesOf(copy) === bytesOf(full(copy.shape, this.#poison, { dtype: copy.dtype }));
  }
}

const bytesOf = (x: Tensor): string => {
  const { buffer, byteOffset, byteLength } = x.contiguous().dataSync();
  return new Uint8Array(buffer, byteOffset, byteLength).join();
};

/** All NaNs alike: JavaScript's functions return this one or that. */
const numbersOf = (x: Tensor): string =>
  Array.from(x.dataSync(), (value) => (Object.is(value, -0) ? '-0' : value)).join();

function shown(value: unknown): unknown {
  if (value instanceof Tensor) return [value.dtype, value.shape, numbersOf(value)];
  if (Array.isArray(value)) return value.map(shown);
  return typeof value === 'function' ? 'a function' : value;
}

/** The result, or the name of the error, and the arguments afterwards. */
async function outcome(
  { run, text }: Call,
  dtype: DType,
  place: (x: Tensor) => Tensor,
): Promise<unknown> {
  seed(7);
  const given = argumentsOf(text).map((value) => {
    const isPlain = value instanceof Tensor && value.dtype === 'float32' && !value.requiresGrad;
    return isPlain ? place(value.mul(5).to(dtype)) : value;
  });
  let result: unknown;
  try {
    result = shown(await run(given));
  } catch (error) {
    result = (error as Error).name;
  }
  return [result, given.map(shown)];
}

describe('within poison', () => {
  for (const call of shareOfDay(calls.methods.filter(({ name }) => !ofLayouts.test(name)))) {
    it(call.name, async () => {
      for (const dtype of Object.keys(dtypes) as DType[]) {
        const embedded: Embedded[] = [];
        const within = await outcome(call, dtype, (x) => {
          if (x.rank === 0) return x;
          const made = new Embedded(x);
          embedded.push(made);
          return made.view;
        });
        expect(within, dtype).toEqual(await outcome(call, dtype, (x) => x));
        const written = embedded.filter(({ isWithinPoison }) => !isWithinPoison);
        expect(written, `${dtype}: what lies around`).toEqual([]);
      }
    });
  }
});
