import fc from 'fast-check';
import type { DType, MemoryChoice, Tensor } from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';

const dtypes = [
  'float32',
  'float64',
  'float16',
  'int32',
  'bool',
  'uint8',
  'bfloat16',
] as const satisfies readonly DType[];
const floating = ['float32', 'float64', 'float16', 'bfloat16'] as const satisfies readonly DType[];
const memory = [
  'planned',
  'cleaned',
  'inputsCleaned',
  'beforeUnusedValues',
  'beforeGradNodeInputs',
  { budget: 0 },
  { simplify: false, minimizeSaved: false },
  { prefer: 'bytes' },
] as const satisfies readonly MemoryChoice[];
/** What `y` is to `x`: memory of its own, the same tensor, or another view of its memory. */
const relations = ['own memory', 'the same tensor', 'a view of its memory'] as const;
const gradients = ['of weights', 'of weights that freeze', 'of inputs'] as const;
/** Rows of `x` in each call: none, one, and as many as slices and threads take. */
const rows = {
  'one size': [2],
  'dynamic sizes': [2, 4, 5, 2, 7],
  'sizes of one': [1, 2, 1, 3, 2],
  'sizes of none': [2, 0, 3, 1, 0],
  'always none': [0],
  'large sizes': [3000, 3000, 2, 4000, 3000],
} as const;

type Dtype = (typeof dtypes)[number];

/** Memory of a tensor of so many rows, and two views of it: [rows, 3], or what broadcasts to that. */
interface Layout {
  readonly base: (rows: number) => number[];
  readonly view: (base: Tensor, rows: number) => Tensor;
  readonly other: (base: Tensor, rows: number) => Tensor;
}

const layouts = {
  contiguous: {
    base: (rows) => [rows, 3],
    view: (base) => base,
    other: (base) => base.narrow(1, 1, 1),
  },
  transposed: {
    base: (rows) => [3, rows],
    view: (base) => base.t(),
    other: (base) => base.t(),
  },
  narrowed: {
    base: (rows) => [rows + 1, 5],
    view: (base, rows) => base.narrow(0, 1, rows).narrow(1, 1, 3),
    other: (base, rows) => base.narrow(0, 0, rows).narrow(1, 2, 3),
  },
  everySecond: {
    base: (rows) => [rows, 3, 2],
    view: (base) => base.select(2, 1),
    other: (base) => base.select(2, 0),
  },
  expanded: {
    base: () => [1, 3],
    view: (base, rows) => base.expand([rows, 3]),
    other: (base) => base,
  },
  oneNumber: {
    base: () => [],
    view: (base) => base,
    other: (base) => base.reshape([1, 1]),
  },
} as const satisfies Readonly<Record<string, Layout>>;

type LayoutName = keyof typeof layouts;

const layoutNames = Object.keys(layouts) as LayoutName[];

/** How the same program is given its arguments, and how it is compiled. */
export interface Variation {
  /** Of the argument `x`, and of `y` and what is kept beside it. */
  readonly dtypes: readonly [Dtype, Dtype];
  readonly weights: (typeof floating)[number];
  readonly layouts: readonly [LayoutName, LayoutName];
  readonly relation: (typeof relations)[number];
  readonly gradients: (typeof gradients)[number];
  readonly rows: keyof typeof rows;
  readonly memory: (typeof memory)[number];
}

/** The first one in most programs: most ops refuse what has two unusual operands. */
const usual = <T>(all: readonly T[], weight = 2) =>
  fc.oneof({ weight, arbitrary: fc.constant(all[0]!) }, fc.constantFrom(...all));

export const variations: fc.Arbitrary<Variation> = fc.record({
  dtypes: fc.tuple(usual(dtypes), fc.constantFrom(...dtypes)),
  weights: usual(floating),
  layouts: fc.tuple(
    fc.constantFrom(...layoutNames.filter((name) => name !== 'oneNumber')),
    fc.constantFrom(...layoutNames),
  ),
  relation: usual(relations, 1),
  gradients: usual(gradients, 1),
  rows: usual(Object.keys(rows) as (keyof typeof rows)[], 1),
  memory: fc.constantFrom(...memory),
});

/** Rows of `x` in each call. */
export function rowsOf(variation: Variation): readonly number[] {
  return rows[variation.rows];
}

/** The memory that tensors of this file are views of. */
const bases = new WeakMap<Tensor, Tensor>();

/** A tensor of these values: [rows, 3], or for `y` a single number. */
export function givenTensor(
  { dtypes, layouts: names }: Variation,
  which: 0 | 1,
  rows: number,
  salt: number,
): Tensor {
  const layout: Layout = layouts[names[which]];
  const base = inDtype(values(layout.base(rows), salt), dtypes[which]);
  const view = layout.view(base, rows);
  bases.set(view, base);
  return view;
}

/** What is given as `y` beside `x`. */
export function beside({ relation, layouts: names }: Variation, x: Tensor, y: Tensor): Tensor {
  switch (relation) {
    case 'own memory':
      return y;
    case 'the same tensor':
      return x;
    case 'a view of its memory': {
      const layout: Layout = layouts[names[0]];
      return layout.other(bases.get(x)!, x.shape[0]!);
    }
  }
}

/** Freezes weights, or asks for a gradient of the input. */
export function switchGradients(
  { gradients }: Variation,
  call: number,
  weights: readonly Tensor[],
  x: Tensor,
): void {
  if (gradients === 'of weights that freeze') {
    for (const each of weights) if (each.isLeaf) each.requiresGrad_(call % 3 !== 1);
  }
  const isFloating = floating.some((dtype) => dtype === x.dtype);
  if (gradients === 'of inputs' && isFloating && call % 3 !== 2) x.requiresGrad_();
}

export function weightsOf({ weights }: Variation) {
  return (shape: number[], salt?: number): Tensor =>
    values(shape, salt).to(weights).requiresGrad_();
}

function inDtype(tensor: Tensor, dtype: Dtype): Tensor {
  switch (dtype) {
    case 'float32':
      return tensor;
    case 'bool':
      return tensor.gt(0);
    case 'uint8':
      return tensor.abs().mul(250).to('uint8');
    default:
      return tensor.mul(3).to(dtype);
  }
}

/** What a run of the property has met, by name. */
export class Met {
  readonly #counts = new Map<string, number>();

  note(variation: Variation): void {
    const { dtypes, layouts, memory } = variation;
    const names = [
      ...dtypes,
      ...layouts,
      `weights ${variation.weights}`,
      variation.relation,
      variation.gradients,
      variation.rows,
      dtypes[0] === dtypes[1] ? 'one dtype' : 'mixed dtypes',
      JSON.stringify(memory),
    ];
    for (const name of new Set(names)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Those that were met fewer times. */
  rarerThan(times: number): readonly string[] {
    const all = [
      ...dtypes,
      ...layoutNames,
      ...floating.map((dtype) => `weights ${dtype}`),
      ...relations,
      ...gradients,
      ...Object.keys(rows),
      'one dtype',
      'mixed dtypes',
      ...memory.map((each) => JSON.stringify(each)),
    ];
    return all.filter((name) => (this.#counts.get(name) ?? 0) < times);
  }
}
