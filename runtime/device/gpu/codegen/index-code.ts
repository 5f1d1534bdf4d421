/**
 * Computes element indices of strided operands from a thread index. gpu.js computes indices in float32, which is exact
 * below 2^24 except for divisions, which are corrected by one.
 */

import type { StoreLayout } from '../core/kernel-text.ts';

/** Dimensions from the outermost, each with its size and one stride per operand. */
interface Loop {
  readonly size: number;
  readonly strides: readonly number[];
}

/** Merges adjacent dimensions with equal traversal in all operands; drops those of size 1. */
export function joinedLoops(
  shape: readonly number[],
  strides: readonly (readonly number[])[],
): Loop[] {
  const loops: Loop[] = [];
  shape.forEach((size, d) => {
    if (size === 1) return;
    const dimStrides = strides.map((operand) => operand[d]!);
    const outer = loops.at(-1);
    if (outer?.strides.every((stride, o) => stride === dimStrides[o]! * size)) {
      loops[loops.length - 1] = { size: outer.size * size, strides: dimStrides };
    } else {
      loops.push({ size, strides: dimStrides });
    }
  });
  return loops;
}

/** Writes `quotient` and `remainder` of the integer `value` by a literal, exact below 2^24. */
export function divisionCode(
  value: string,
  divisor: number,
  quotient: string,
  remainder: string,
): string[] {
  const d = divisor;
  return [
    `let ${quotient}=Math.floor(${value}/${d});`,
    `let ${remainder}=${value}-${quotient}*${d};`,
    `if(${remainder}<0.0){${quotient}=${quotient}-1.0;${remainder}=${remainder}+${d};}`,
    `if(${remainder}>=${d}){${quotient}=${quotient}+1.0;${remainder}=${remainder}-${d};}`,
  ];
}

interface IndexCode {
  readonly lines: readonly string[];
  /** Each operand's element index without the offset, as an integer expression. */
  readonly indices: readonly string[];
}

/** Splits the row-major index `thread` of `shape`; `prefix` makes the names unique. */
export function indexCode(
  thread: string,
  shape: readonly number[],
  strides: readonly (readonly number[])[],
  prefix: string,
): IndexCode {
  const loops = joinedLoops(shape, strides);
  const lines: string[] = [];
  const coordinates: string[] = [];
  let rest = thread;
  for (let d = loops.length - 1; d > 0; d--) {
    const quotient = `${prefix}q${d}`;
    const remainder = `${prefix}r${d}`;
    lines.push(...divisionCode(rest, loops[d]!.size, quotient, remainder));
    coordinates[d] = remainder;
    rest = quotient;
  }
  coordinates[0] = rest;
  const indices = strides.map((_, operand) => {
    const terms = loops.flatMap(({ strides }, d) => term(coordinates[d]!, strides[operand]!));
    return terms.join('+') || '0.0';
  });
  return { lines, indices };
}

function term(coordinate: string, stride: number): string[] {
  if (stride === 0) return [];
  return [stride === 1 ? coordinate : `${coordinate}*${stride}`];
}

/** Returns where threads of a strided target, or one starting at element `base`, store; null if at their index. */
export function storeLayout(
  shape: readonly number[],
  strides: readonly number[],
  base = 0,
): StoreLayout | null {
  const loops = joinedLoops(shape, [strides]).map(({ size, strides }) => ({
    size,
    stride: strides[0]!,
  }));
  const isContiguous = loops.length === 0 || (loops.length === 1 && loops[0]!.stride === 1);
  return base === 0 && isContiguous ? null : { loops, base };
}
