import { type DType, dtypes } from '../../../spec/dtype.ts';
import type { Groups } from '../core/command-batch.ts';
import { intText } from './elements/integer-functions.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** How values are folded, in an order that depends on sizes alone. */
export interface Fold {
  readonly type: 'f32' | 'i32' | 'vec2<f32>';
  readonly start: string;
  /** Folds `v` into `x`, both values or results of folds. */
  readonly step: string;
}

/** NaN wins, as in PyTorch; comparisons with NaN are false. */
const extreme = (sign: '>' | '<'): Fold => ({
  type: 'f32',
  start: sign === '>' ? '-u.inf' : 'u.inf',
  step: `select(select(x + v, v, v ${sign} x), x, v ${sign === '>' ? '<=' : '>='} x)`,
});

export const folds = {
  sum: { type: 'f32', start: '0.0f', step: 'x + v' },
  prod: { type: 'f32', start: '1.0f', step: 'x * v' },
  max: extreme('>'),
  min: extreme('<'),
  /** Two sums at once. */
  sums: { type: 'vec2<f32>', start: 'vec2<f32>(0.0f, 0.0f)', step: 'x + v' },
} as const satisfies Record<string, Fold>;

export type FoldName = 'sum' | 'prod' | 'max' | 'min';

/** int32 wraps around. */
const intFolds: { readonly [F in FoldName]: Fold } = {
  sum: { type: 'i32', start: '0i', step: 'x + v' },
  prod: { type: 'i32', start: '1i', step: 'x * v' },
  max: { type: 'i32', start: intText(-(2 ** 31)), step: 'max(x, v)' },
  min: { type: 'i32', start: intText(2 ** 31 - 1), step: 'min(x, v)' },
};

/** The fold of a dtype's elements. */
export function foldOf(name: FoldName, dtype: DType): Fold {
  return (dtypes[dtype].floating ? folds : intFolds)[name];
}

/** So many outputs, each the fold of `count` elements. */
export interface FoldSizes {
  readonly outputs: number;
  readonly count: number;
}

/** Elements of one part, where a fold is so long that one workgroup per output leaves the GPU idle. */
const partLength = 4096;
const fewOutputs = 256;

export function partsOf({ count, outputs }: FoldSizes): number {
  return count > partLength && outputs < fewOutputs ? Math.ceil(count / partLength) : 1;
}

/** Threads that keep a GPU busy. */
const busyThreads = 8192;

/** Threads that fold one output together, a power of 2: no more than keep the GPU busy, and 16 for long rows. */
export function slicesOf({ count, outputs }: FoldSizes): number {
  const elements = Math.min(count, partLength);
  const wanted = Math.max(busyThreads / Math.max(1, outputs), elements >= 1024 ? 16 : 1);
  return powerOfTwo(Math.min(mostSlices, wanted, elements / 8));
}

const mostSlices = 256;

/** The largest one up to the value; at least 1. */
function powerOfTwo(value: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, value)));
}

export function threadsFor(slices: number): number {
  return Math.max(workgroupThreads, slices);
}

export interface FoldTexts {
  /** Writes what depends on the output alone, and returns what writes one element's value. */
  readonly source: (output: string) => (element: string) => string;
  /** Parts that each output is folded in; the results of parts are neighbours. */
  readonly parts: number;
  /** Elements of one output are neighbours in memory, rather than those of neighbouring outputs. */
  readonly isAlong: boolean;
}

/**
 * Writes the fold of each output, or of each part of one, which `finish(o, value)` gets once: thread `s` of `slices`
 * folds the elements s, s + slices, …, then few threads fold what all of them have.
 */
export function foldText(
  w: WgslWriter,
  { type, start, step }: Fold,
  { outputs, count }: FoldSizes,
  { source, parts, isAlong }: FoldTexts,
): Groups {
  const slices = slicesOf({ outputs: outputs * parts, count });
  const threads = threadsFor(slices);
  const perGroup = threads / slices;
  const total = w.count('outputs', outputs * parts);
  const length = w.count('length', count);
  w.function(`fold(x : ${type}, v : ${type}) -> ${type}`, () => w.line(`return ${step};`));
  // Neighbouring threads read neighbours in memory. The order of the fold is the same.
  w.line(
    isAlong ? `let s = thread % ${slices}u;` : `let s = thread / ${perGroup}u;`,
    isAlong ? `let q = thread / ${slices}u;` : `let q = thread % ${perGroup}u;`,
    `let o = group * ${perGroup}u + q;`,
    `var x = ${start};`,
    `if (o < ${total}) {`,
  );
  let [out, first, end] = ['o', 's', length];
  if (parts > 1) {
    const number = w.count('parts', parts);
    out = w.let(`o / ${number}`);
    const part = w.let(`(o - ${out} * ${number}) * ${partLength}u`);
    first = w.let(`${part} + s`);
    end = w.let(`min(${part} + ${partLength}u, ${length})`);
  }
  const element = source(out);
  w.line(`for (var r = ${first}; r < ${end}; r = r + ${slices}u) {`);
  const value = element('r');
  w.line(`x = fold(x, ${value});`, '}', '}');
  if (slices > 1) {
    w.shared('partial', `array<${type}, ${threads}>`);
    w.line(`partial[s * ${perGroup}u + q] = x;`, 'workgroupBarrier();');
    // Few barriers: the rows of partial results are folded by one thread each, in two steps where they are many.
    const rows = slices > 32 ? slices / 16 : 1;
    const fold = (first: string, count: number, step: number) => [
      `x = partial[${first} * ${perGroup}u + q];`,
      `for (var j = 1u; j < ${count}u; j = j + 1u) { x = fold(x, partial[(${first} + j * ${step}u) * ${perGroup}u + q]); }`,
    ];
    if (rows > 1) {
      w.line(`if (s < ${rows}u) {`, ...fold('s', slices / rows, rows));
      w.line(`partial[s * ${perGroup}u + q] = x;`, '}', 'workgroupBarrier();');
    }
    w.line('if (s == 0u) {', ...fold('0u', rows > 1 ? rows : slices, 1), '}');
  }
  w.line(`if (s == 0u && o < ${total}) { finish(o, x); }`);
  return groupsOf(Math.ceil((outputs * parts) / perGroup));
}
