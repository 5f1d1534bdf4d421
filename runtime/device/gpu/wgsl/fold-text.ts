import { type DType, dtypes } from '../../../spec/dtype.ts';
import type { Groups } from '../core/command-batch.ts';
import { intText } from './elements/integer-functions.ts';
import { foldThreads, quad } from './thread-folds.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** A fold of values, in an order that only depends on sizes. */
export interface Fold {
  readonly type: 'f32' | 'i32' | 'vec2<f32>';
  readonly start: string;
  /** Folds `v` into `x`, both values or results of folds. */
  readonly step: string;
}

export const folds = {
  sum: { type: 'f32', start: '0.0f', step: 'x + v' },
  prod: { type: 'f32', start: '1.0f', step: 'x * v' },
  max: { type: 'f32', start: '-u.inf', step: 'f_max(x, v)' },
  min: { type: 'f32', start: 'u.inf', step: 'f_min(x, v)' },
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

/** Returns the fold for a dtype's elements. */
export function foldOf(name: FoldName, dtype: DType): Fold {
  return (dtypes[dtype].floating ? folds : intFolds)[name];
}

/** The number of outputs, each a fold of `count` elements. */
export interface FoldSizes {
  readonly outputs: number;
  readonly count: number;
}

/** The number of elements per part, if a fold is so long that one workgroup per output would leave the GPU idle. */
const partLength = 4096;
const fewOutputs = 256;

export function partCount({ count, outputs }: FoldSizes): number {
  return count > partLength && outputs < fewOutputs ? Math.ceil(count / partLength) : 1;
}

/** The number of threads that keep a GPU busy, and the maximum per workgroup. */
const busyThreads = 65536;
const mostThreads = 256;

/** The number of threads that fold one output together, a power of 2, and the threads per workgroup. */
export interface Sharing {
  readonly slices: number;
  readonly threads: number;
}

/**
 * Uses only as many threads per output as keep the GPU busy, but 64 for long folds over adjacent elements. If adjacent
 * elements belong to other outputs, a workgroup has at least 8 outputs, which share a memory access.
 */
export function sharingOf({ count, outputs }: FoldSizes, isAlong: boolean): Sharing {
  const elements = Math.min(count, partLength);
  const enough = Math.max(busyThreads / Math.max(1, outputs), isAlong && elements >= 1024 ? 64 : 1);
  const most = isAlong ? mostThreads : mostThreads / 8;
  const slices = powerOfTwo(Math.min(most, enough, elements / 8));
  const threads = isAlong ? slices : Math.min(mostThreads, slices * 32);
  return { slices, threads: Math.max(workgroupThreads, threads) };
}

/** Returns the largest power of 2 up to the value; at least 1. */
function powerOfTwo(value: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, value)));
}

export interface FoldTexts {
  /** Writes what depends only on the output, and returns a function that writes one element's value. */
  readonly source: (output: string) => (element: string) => string;
  /** The number of parts per output; the results of parts are adjacent. */
  readonly parts: number;
  /** Whether elements of one output, rather than of adjacent outputs, are adjacent in memory. */
  readonly isAlong: boolean;
  /** Returns the statement that stores an output; calls `finish(o, value)` by default. */
  readonly store?: (output: string, value: string) => string;
}

/** With more threads, an output is folded in two steps. */
const mostByFours = 32;

/** The number of elements that a thread loads before folding them. */
const unrolled = 4;

/**
 * Writes the fold of each output, or of each part of an output, which is stored once: thread `s` of `slices` folds
 * the elements s, s + slices, …, then few threads fold the partial results.
 */
export function foldText(
  w: WgslWriter,
  { type, start, step }: Fold,
  { outputs, count }: FoldSizes,
  { source, parts, isAlong, store = (o, value) => `finish(${o}, ${value});` }: FoldTexts,
  { slices, threads }: Sharing,
): Groups {
  const perGroup = threads / slices;
  const total = w.count('outputs', outputs * parts);
  const length = w.count('length', count);
  w.function(`fold(x : ${type}, v : ${type}) -> ${type}`, () => w.line(`return ${step};`));
  // Adjacent threads read adjacent memory. The fold's order is the same.
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
  const loop = (number: number): void => {
    const ahead = number > 1 ? ` + ${(number - 1) * slices}u` : '';
    w.line(`for (; r${ahead} < ${end}; r = r + ${number * slices}u) {`);
    const values = [...Array(number).keys()].map((i) =>
      w.let(element(i === 0 ? 'r' : `(r + ${i * slices}u)`)),
    );
    w.line(...values.map((value) => `x = fold(x, ${value});`), '}');
  };
  w.line(`var r = ${first};`);
  if (Math.min(count, partLength) >= unrolled * slices) loop(unrolled);
  loop(1);
  w.line('}');
  if (slices >= quad && slices <= mostByFours) {
    const by = (x: string, v: string) => `fold(${x}, ${v})`;
    const own = { name: 'x', type, slices, threads, partial: 'partial', step: by };
    foldThreads(w, isAlong ? own : { ...own, apart: perGroup });
  } else if (slices > 1) {
    w.shared('partial', `array<${type}, ${threads}>`);
    w.line(`partial[s * ${perGroup}u + q] = x;`, 'workgroupBarrier();');
    // Few barriers: each row of partial results is folded by one thread, in two steps if there are many.
    const rows = slices > mostByFours ? slices / 16 : 1;
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
  w.line(`if (s == 0u && o < ${total}) { ${store('o', 'x')} }`);
  return groupsOf(Math.ceil((outputs * parts) / perGroup));
}
