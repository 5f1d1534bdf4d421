import type { Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import { heap, partArgumentsAt } from '../core/heap.ts';
import { argumentsAt } from '../core/scratch.ts';
import { toInt32 } from '../scalar/pointwise.ts';
import type { NumberForm } from '../wasm/assembler/expr-emitter.ts';
import type { PointwiseKernel } from '../wasm/pointwise-kernel.ts';

const attrBits = new Int32Array(2);
const attrFloat = new Float32Array(attrBits.buffer);
const attrDouble = new Float64Array(attrBits.buffer);

/** Writes a number's words into `attrBits`; returns their count. */
function bitsOf(value: number, form: NumberForm): number {
  if (form === 'i32') attrBits[0] = toInt32(value);
  else if (form === 'f32') attrFloat[0] = value;
  else attrDouble[0] = value;
  return form === 'f64' ? 2 : 1;
}

/** The location, in words, of the operands of a call or of a part of it. */
export const argumentWords = argumentsAt / 4;
export const partWords = partArgumentsAt / 4;

/** The granularity of parts in elements: a kernel computes up to 4 vectors at a time, from the start of a row. */
const vectors = 16;

const leastPart = 15_000;
const leastOfFew = 6_000;
const mostFlatParts = 64;

/** Returns the number of parts for a loop that takes `work` nanoseconds: two or four if short, else more. */
export function partCount(work: number): number {
  const few = work < 2 * leastOfFew ? 1 : work < 4 * leastOfFew ? 2 : 4;
  return Math.min(mostFlatParts, Math.max(few, Math.floor(work / leastPart)));
}

/** Returns the length of these parts, which end at vector boundaries. */
export function partLength(length: number, nanoseconds: number): number {
  return Math.ceil(length / partCount(length * nanoseconds) / vectors) * vectors;
}

const noWords: readonly number[] = [];

export function attrWordsOf({ attrs: names }: PointwiseKernel, attrs: Attrs): readonly number[] {
  if (names.length === 0) return noWords;
  const words: number[] = [];
  for (const { name, form } of names) {
    const count = bitsOf(attrs[name] as number, form);
    for (let k = 0; k < count; k++) words.push(attrBits[k]!);
  }
  return words;
}

/** Writes the attributes as the kernel reads them: `bound`, unless the launch has its own numbers. */
export function putAttrs(
  kernel: PointwiseKernel,
  now: Attrs | undefined,
  bound: readonly number[],
  at: number,
): void {
  const values = now ? attrWordsOf(kernel, now) : bound;
  const words = heap.i32;
  for (let i = 0; i < values.length; i++) words[at + i] = values[i]!;
}

/** Whether a kernel writes elements that it reads at another position, so that the order matters. */
export function overlaps(
  operands: readonly Operand[],
  written: readonly number[],
  steps: readonly (readonly number[])[],
): boolean {
  for (let i = 0; i < written.length; i++) {
    const { holder, offset } = operands[written[i]!]!;
    const outputSteps = steps[written[i]!]!;
    for (let k = 0; k < operands.length; k++) {
      if (operands[k]!.holder !== holder) continue;
      if (operands[k]!.offset !== offset || differ(outputSteps, steps[k]!)) return true;
    }
  }
  return false;
}

function differ(a: readonly number[], b: readonly number[]): boolean {
  return a.some((step, d) => step !== b[d]);
}
