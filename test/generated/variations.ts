import fc from 'fast-check';
import type { MemoryChoice, Tensor } from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';

const dtypes = ['float32', 'float64', 'float16', 'int32', 'bool'] as const;
const layouts = ['contiguous', 'transposed', 'narrowed', 'everySecond'] as const;
const memory = [
  'planned',
  'cleaned',
  'inputsCleaned',
  'beforeUnusedValues',
  'beforeGradNodeInputs',
  { budget: 0 },
  { simplify: false, minimizeSaved: false },
] as const satisfies readonly MemoryChoice[];

type Dtype = (typeof dtypes)[number];
type Layout = (typeof layouts)[number];

/** How the same program is given its arguments, and how it is compiled. */
export interface Variation {
  /** Of the argument `x`, and of `y` and what is kept beside it. */
  readonly dtypes: readonly [Dtype, Dtype];
  readonly layouts: readonly [Layout, Layout];
  /** Rows of `x` in each call: one number where they don't change. */
  readonly rows: readonly number[];
  readonly memory: (typeof memory)[number];
}

// One of them is as usual in most programs: most ops refuse what has two unusual operands.
const usual = <T>(all: readonly T[]) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(all[0]!) }, fc.constantFrom(...all));

export const variations: fc.Arbitrary<Variation> = fc.record({
  dtypes: fc.tuple(usual(dtypes), fc.constantFrom(...dtypes)),
  layouts: fc.tuple(fc.constantFrom(...layouts), fc.constantFrom(...layouts)),
  rows: fc.constantFrom([2], [2, 4, 5, 2, 7], [1, 2, 1, 3, 2]),
  memory: fc.constantFrom(...memory),
});

/** A tensor of these values: [rows, 3]. */
export function givenTensor(
  { dtypes, layouts }: Variation,
  which: 0 | 1,
  rows: number,
  salt: number,
): Tensor {
  return inDtype(inLayout(layouts[which], rows, salt), dtypes[which]);
}

function inLayout(layout: Layout, rows: number, salt: number): Tensor {
  switch (layout) {
    case 'contiguous':
      return values([rows, 3], salt);
    case 'transposed':
      return values([3, rows], salt).t();
    case 'narrowed':
      return values([rows + 1, 5], salt)
        .narrow(0, 1, rows)
        .narrow(1, 1, 3);
    case 'everySecond':
      return values([rows, 3, 2], salt).select(2, 1);
  }
}

/** A cast of a strided tensor is contiguous, so it is laid out once more. */
function inDtype(tensor: Tensor, dtype: Dtype): Tensor {
  if (dtype === 'float32') return tensor;
  const cast = dtype === 'bool' ? tensor.gt(0) : tensor.mul(3).to(dtype);
  return tensor.isContiguous ? cast : cast.t().contiguous().t();
}

/** What a run of the property has met, by name. */
export class Met {
  readonly #counts = new Map<string, number>();

  note({ dtypes, layouts, rows, memory }: Variation): void {
    const names = [
      ...dtypes,
      ...layouts,
      rows.length > 1 ? 'dynamic sizes' : 'one size',
      dtypes[0] === dtypes[1] ? 'one dtype' : 'mixed dtypes',
      JSON.stringify(memory),
    ];
    for (const name of new Set(names)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Those that were met fewer times. */
  rarerThan(times: number): readonly string[] {
    const all = [
      ...dtypes,
      ...layouts,
      'dynamic sizes',
      'one size',
      'one dtype',
      'mixed dtypes',
      ...memory.map((each) => JSON.stringify(each)),
    ];
    return all.filter((name) => (this.#counts.get(name) ?? 0) < times);
  }
}
