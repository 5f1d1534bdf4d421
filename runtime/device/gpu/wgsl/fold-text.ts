import type { Groups } from '../command-batch.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** How values are folded, in an order that depends on sizes alone. */
export interface Fold {
  readonly type: 'f32' | 'vec2<f32>';
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

/** Threads that fold one output together: a power of 2. */
export function slicesOf({ count, outputs }: FoldSizes): number {
  const most = outputs >= 4096 ? 16 : 256;
  const wanted = 2 ** Math.floor(Math.log2(Math.max(1, Math.min(count, partLength) / 4)));
  return Math.min(most, wanted);
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
 * folds the elements s, s + slices, …, then halves of the threads fold what the other halves have.
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
    const own = `partial[s * ${perGroup}u + q]`;
    w.shared('partial', `array<${type}, ${threads}>`);
    w.line(
      `${own} = x;`,
      'workgroupBarrier();',
      `for (var h = ${slices / 2}u; h > 0u; h = h / 2u) {`,
      `if (s < h) { ${own} = fold(${own}, partial[(s + h) * ${perGroup}u + q]); }`,
      'workgroupBarrier();',
      '}',
      'if (s == 0u) { x = partial[q]; }',
    );
  }
  w.line(`if (s == 0u && o < ${total}) { finish(o, x); }`);
  return groupsOf(Math.ceil((outputs * parts) / perGroup));
}
