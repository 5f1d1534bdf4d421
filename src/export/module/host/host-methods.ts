/**
 * JavaScript kernels that a module may contain: those whose reads and writes depend on elements of tensors. Each is
 * written into a module as text, so it refers only to its parameters and to members of `this`.
 */

import type { View } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import { lossMethods } from '../../../../runtime/device/cpu/scalar/loss.ts';
import { drawMethods } from './draw-methods.ts';
import { poolMethods } from './pool-methods.ts';
import { type EachLine, rowMethods } from './row-methods.ts';

/** Views of the module's memory, and how to reject a value. */
export interface HostMemory {
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i32: Int32Array;
  readonly u16: Uint16Array;
  readonly u8: Uint8Array;
  fail(message: string): never;
}

type Name = View;
type Numbers = readonly number[];
export type HostKernel = (...args: number[]) => void;
/** Loops over elements: their sizes, and the strides of each operand. */
type Walk = (
  shape: Numbers,
  steps: readonly Numbers[],
  at: number[],
  body: (at: number[]) => void,
) => void;

export interface HostMethods extends HostMemory {
  eachLine: EachLine;
  rows(
    op: string,
    places: number,
    chosen: number,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
    wraps: number,
  ): Int32Array;
  eachRow(
    rows: Int32Array,
    whole: number,
    partner: number,
    [outer, outerStep, inner]: Numbers,
    body: (row: number, partner: number) => void,
  ): void;
  walk: Walk;
  perElement(
    op: string,
    at: Numbers,
    shape: Numbers,
    whole: Numbers,
    index: Numbers,
    partner: Numbers,
    [dim, size, step]: Numbers,
    body: (whole: number, partner: number) => void,
  ): void;
}

const hostMethods = {
  /** The first element of each chosen row, within an outer index. */
  rows(
    op: string,
    places: number,
    chosen: number,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
    wraps: number,
  ): Int32Array {
    const rows = new Int32Array(chosen);
    for (let k = 0; k < dims.length; k++) {
      const size = sizes[k]!;
      for (let b = 0; b < chosen; b++) {
        const given = this.i32[places + k * chosen + b]!;
        const place = given < 0 && wraps ? given + size : given;
        if (place < 0 || place >= size) {
          this.fail(
            `${op}: index ${given} is out of range in dimension ${dims[k]} of size ${size}`,
          );
        }
        rows[b]! += place * strides[k]!;
      }
    }
    return rows;
  },

  eachRow(
    rows: Int32Array,
    whole: number,
    partner: number,
    [outer, outerStep, inner]: Numbers,
    body: (row: number, partner: number) => void,
  ) {
    let to = partner;
    for (let o = 0; o < outer!; o++) {
      for (let b = 0; b < rows.length; b++) {
        body(whole + o * outerStep! + rows[b]!, to);
        to += inner!;
      }
    }
  },

  /** Copies rows: from the chosen ones if `reads`, otherwise to them. */
  copyRows(
    op: string,
    view: Name,
    [whole, places, partner]: Numbers,
    entries: Numbers,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
    reads: number,
  ) {
    const data = this[view];
    const [, , inner, chosen, wraps] = entries;
    const rows = this.rows(op, places!, chosen!, dims, sizes, strides, wraps!);
    this.eachRow(rows, whole!, partner!, entries, (row, to) => {
      if (reads) data.copyWithin(to, row, row + inner!);
      else data.copyWithin(row, to, to + inner!);
    });
  },

  addRows(
    op: string,
    view: Name,
    [whole, places, partner]: Numbers,
    entries: Numbers,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
  ) {
    const data = this[view];
    const [, , inner, chosen, wraps] = entries;
    const rows = this.rows(op, places!, chosen!, dims, sizes, strides, wraps!);
    this.eachRow(rows, whole!, partner!, entries, (row, from) => {
      for (let i = 0; i < inner!; i++) data[row + i] = data[row + i]! + data[from + i]!;
    });
  },

  walk(shape: Numbers, steps: readonly Numbers[], at: number[], body: (at: number[]) => void) {
    const count = shape.map(() => 0);
    if (shape.includes(0)) return;
    for (;;) {
      body(at);
      let dim = shape.length - 1;
      for (; dim >= 0; dim--) {
        for (let k = 0; k < at.length; k++) at[k]! += steps[k]![dim]!;
        if (++count[dim]! < shape[dim]!) break;
        for (let k = 0; k < at.length; k++) at[k]! -= shape[dim]! * steps[k]![dim]!;
        count[dim] = 0;
      }
      if (dim < 0) return;
    }
  },

  perElement(
    op: string,
    at: Numbers,
    shape: Numbers,
    whole: Numbers,
    index: Numbers,
    partner: Numbers,
    [dim, size, step]: Numbers,
    body: (whole: number, partner: number) => void,
  ) {
    this.walk(shape, [whole, index, partner], [...at], ([w, i, p]) => {
      const place = this.i32[i!]!;
      if (place < 0 || place >= size!) {
        this.fail(`${op}: index ${place} is out of range in dimension ${dim} of size ${size}`);
      }
      body(w! + place * step!, p!);
    });
  },

  /** `how`: 0 reads the indexed elements, 1 writes them, 2 adds to them. */
  moveElements(
    op: string,
    view: Name,
    at: Numbers,
    shape: Numbers,
    whole: Numbers,
    index: Numbers,
    partner: Numbers,
    along: Numbers,
    how: number,
  ) {
    const data = this[view];
    this.perElement(op, at, shape, whole, index, partner, along, (w, p) => {
      if (how === 0) data[p] = data[w]!;
      else if (how === 1) data[w] = data[p]!;
      else data[w] = data[w]! + data[p]!;
    });
  },

  /** The first of the largest (sign 1) or smallest (sign −1) elements; NaN counts as either. */
  argExtreme(view: Name, from: number, to: number, [size, step, outer]: Numbers, sign: number) {
    const data = this[view];
    let out = to;
    this.eachLine(size!, step!, outer!, (start) => {
      const first = from + start;
      let best = 0;
      let top = data[first]!;
      for (let k = 1; k < size! && !Number.isNaN(top); k++) {
        const value = data[first + k * step!]!;
        if (sign * value > sign * top || Number.isNaN(value)) [best, top] = [k, value];
      }
      this.i32[out++] = best;
    });
  },

  /** The sum, product, maximum or minimum, in shape order; integers wrap. */
  fold(
    kind: string,
    views: readonly Name[],
    at: Numbers,
    kept: Numbers,
    keptSteps: readonly Numbers[],
    reduced: Numbers,
    steps: Numbers,
    isInteger: number,
  ) {
    const [data, results] = [this[views[0]!], this[views[1]!]];
    const starts: Record<string, number> = { sum: 0, prod: 1, max: -Infinity, min: Infinity };
    this.walk(kept, keptSteps, [...at], ([from, to]) => {
      let result = starts[kind]!;
      this.walk(reduced, [steps], [from!], ([place]) => {
        const value = data[place!]!;
        if (kind === 'sum') result = isInteger ? (result + value) | 0 : result + value;
        else if (kind === 'prod') result = isInteger ? Math.imul(result, value) : result * value;
        else if (kind === 'max') result = value > result || Number.isNaN(value) ? value : result;
        else result = value < result || Number.isNaN(value) ? value : result;
      });
      results[to!] = result;
    });
  },
} satisfies Record<string, unknown> & ThisType<HostMethods>;

const all = { ...lossMethods, ...hostMethods, ...rowMethods, ...poolMethods, ...drawMethods };

export type HostMethod = keyof typeof all;

/** The text of these methods and of the methods that they call, as members of an object. */
export function hostText(names: Iterable<string>): string {
  const texts = new Map<string, string>();
  const add = (name: string): void => {
    if (texts.has(name) || !Object.hasOwn(all, name)) return;
    const text = String(all[name as HostMethod]);
    texts.set(name, text);
    for (const [, called] of text.matchAll(/this\.(\w+)\(/g)) add(called!);
  };
  for (const name of names) add(name);
  return [...texts.values()].join(',\n');
}
