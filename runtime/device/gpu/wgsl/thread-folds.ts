import type { Fold } from './fold-text.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** The number of threads whose numbers are folded first; every subgroup has at least this many. */
export const quad = 4;

/** A number that threads of a workgroup, adjacent by default, fold together. */
interface ThreadFold {
  /** The variable of each thread. */
  readonly name: string;
  readonly type: Fold['type'];
  /** The number of threads per fold: a power of 2, at least four. */
  readonly slices: number;
  /** The distance between them if they are not adjacent; the threads in between belong to other folds. */
  readonly apart?: number;
  /** The number of threads of the workgroup. */
  readonly threads: number;
  /** The name of the shared array, if one is needed. */
  readonly partial: string;
  /** Folds `v` into `x`. */
  readonly step: (x: string, v: string) => string;
}

/**
 * Folds the threads' numbers by fours, then the results in order; all threads receive the result. Threads of a subgroup
 * read each other's registers without a barrier; others use workgroup memory. The order is always that of tiled
 * attention.
 */
export function foldThreads(w: WgslWriter, fold: ThreadFold): void {
  const { name, slices, apart } = fold;
  if (w.lanes < quad || apart !== undefined) {
    foldShared(w, fold);
    return;
  }
  w.line(`${name} = ${quadFold(w, name, fold.step)};`);
  const fours = slices / quad;
  if (fours === 1) return;
  if (slices <= w.lanes) {
    const whole = foldLanes(w, name, slices, fold.step);
    w.line(`${name} = ${whole};`);
    return;
  }
  const { partial, type, threads, step } = fold;
  w.shared(partial, `array<${type}, ${threads / quad}>`);
  w.line(
    `if (thread % ${quad}u == 0u) { ${partial}[thread / ${quad}u] = ${name}; }`,
    'workgroupBarrier();',
    `let first_${partial} = thread / ${slices}u * ${fours}u;`,
    `${name} = ${partial}[first_${partial}];`,
    `for (var j = 1u; j < ${fours}u; j = j + 1u) { ${name} = ${step(name, `${partial}[first_${partial} + j]`)}; }`,
  );
}

/** Returns the fold of four threads' numbers, available in each of them. */
export function quadFold(w: WgslWriter, name: string, step: ThreadFold['step']): string {
  const lanes = [...Array(quad).keys()].map((i) => w.quadBroadcast(name, i));
  return w.let(lanes.reduce(step));
}

/** Returns the fold of the fours' results of `slices` threads, which are lanes of one subgroup. */
function foldLanes(w: WgslWriter, name: string, slices: number, step: ThreadFold['step']): string {
  const base = w.let(`${w.lane()} & ~${slices - 1}u`);
  const fours = [...Array(slices / quad).keys()].map((i) =>
    w.let(w.shuffle(name, i === 0 ? base : `${base} + ${i * quad}u`)),
  );
  return fours.reduce((x, v) => w.let(step(x, v)));
}

/** Folds without subgroups. */
function foldShared(
  w: WgslWriter,
  { name, type, slices, apart, threads, partial, step }: ThreadFold,
): void {
  const pitch = apart ?? 1;
  w.shared(partial, `array<${type}, ${threads}>`);
  w.function(`four_${partial}(i : u32) -> ${type}`, () => {
    const partials = [...Array(quad).keys()].map((i) => `${partial}[i + ${i * pitch}u]`);
    w.line(`return ${partials.reduce(step)};`);
  });
  w.line(
    `${partial}[thread] = ${name};`,
    'workgroupBarrier();',
    `let first_${partial} = ${apart ? `thread % ${apart}u` : `thread / ${slices}u * ${slices}u`};`,
    `${name} = four_${partial}(first_${partial});`,
  );
  if (slices === quad) return;
  w.line(
    `for (var j = ${quad}u; j < ${slices}u; j = j + ${quad}u) { ${name} = ${step(name, `four_${partial}(first_${partial} + j * ${pitch}u)`)}; }`,
  );
}
