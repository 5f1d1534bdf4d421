/**
 * JavaScript kernels that a module may contain: those whose reads and writes depend on elements of tensors. Each is
 * written into a module as text, so it refers only to its parameters and to members of `this`.
 */

import { convolutionMethods } from '../../../../runtime/device/cpu/conv/scalar-conv.ts';
import {
  hostMethods,
  loopMethods,
  type Numbers,
  type View,
} from '../../../../runtime/device/cpu/core/host-kernels.ts';
import { lossMethods } from '../../../../runtime/device/cpu/scalar/loss.ts';
import { poolMethods } from '../../../../runtime/device/cpu/scalar/pool.ts';
import { reductionMethods } from '../../../../runtime/device/cpu/scalar/reduce.ts';
import { resampleMethods } from '../../../../runtime/device/cpu/scalar/resample.ts';
import { scanMethods } from '../../../../runtime/device/cpu/scalar/scan.ts';
import { softmaxMethods } from '../../../../runtime/device/cpu/scalar/softmax.ts';
import { standardizeMethods } from '../../../../runtime/device/cpu/scalar/standardize.ts';
import { drawMethods } from './draw-methods.ts';

const ownMethods = hostMethods({
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
          const range = size === 0 ? 'no indices' : `${wraps ? -size : 0} to ${size - 1}`;
          const where = `index ${given} in dimension ${dims[k]} of size ${size}`;
          this.reject(`${op}: an index is out of range`, where, range, '');
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
  ): void {
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
    view: View,
    [whole, places, partner]: Numbers,
    entries: Numbers,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
    reads: number,
  ): void {
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
    view: View,
    [whole, places, partner]: Numbers,
    entries: Numbers,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
  ): void {
    const data = this[view];
    const [, , inner, chosen, wraps] = entries;
    const rows = this.rows(op, places!, chosen!, dims, sizes, strides, wraps!);
    this.eachRow(rows, whole!, partner!, entries, (row, from) => {
      for (let i = 0; i < inner!; i++) data[row + i] = data[row + i]! + data[from + i]!;
    });
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
  ): void {
    const places = [...at];
    this.walk(shape, [whole, index, partner], places, () => {
      const [w, i, p] = places;
      const place = this.i32[i!]!;
      if (place < 0 || place >= size!) {
        const range = size === 0 ? 'no indices' : `0 to ${size! - 1}`;
        const where = `index ${place} in dimension ${dim} of size ${size}`;
        this.reject(`${op}: an index is out of range`, where, range, '');
      }
      body(w! + place * step!, p!);
    });
  },

  /** `how`: 0 reads the indexed elements, 1 writes them, 2 adds to them. */
  moveElements(
    op: string,
    view: View,
    at: Numbers,
    shape: Numbers,
    whole: Numbers,
    index: Numbers,
    partner: Numbers,
    along: Numbers,
    how: number,
  ): void {
    const data = this[view];
    this.perElement(op, at, shape, whole, index, partner, along, (w, p) => {
      if (how === 0) data[p] = data[w]!;
      else if (how === 1) data[w] = data[p]!;
      else data[w] = data[w]! + data[p]!;
    });
  },

  /** The first sorted entries of each row and their positions; the sort is stable, and NaN is the largest. */
  sortRows(view: View, [from, values, places]: Numbers, sizes: Numbers, sign: number): void {
    const data = this[view];
    const [size, step, , count] = sizes;
    this.eachLine(sizes, (start, place) => {
      const first = from! + start;
      const order = Int32Array.from({ length: size! }, (_, k) => k).sort((a, b) => {
        const [x, y] = [data[first + a * step!]!, data[first + b * step!]!];
        if (x < y) return -sign;
        if (x > y) return sign;
        return sign * (Number(Number.isNaN(x)) - Number(Number.isNaN(y)));
      });
      // The results have `count` entries where the operand has `size`.
      const into = ((start - place) / size!) * count! + place;
      for (let k = 0; k < count!; k++) {
        const to = into + k * step!;
        data[values! + to] = data[first + order[k]! * step!]!;
        this.i32[places! + to] = order[k]!;
      }
    });
  },
});

const all = {
  ...loopMethods,
  ...lossMethods,
  ...softmaxMethods,
  ...standardizeMethods,
  ...convolutionMethods,
  ...poolMethods,
  ...resampleMethods,
  ...scanMethods,
  ...reductionMethods,
  ...ownMethods,
  ...drawMethods,
};

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
