import { dtypes } from '../../../spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../../../spec/shape.ts';
import type { Launch, Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import {
  hostCalls,
  hostMethods,
  type Numbers,
  placesOf,
  type View,
  viewOf,
} from '../core/host-kernels.ts';
import { addressOf, expectContiguous, type KernelFactory } from '../core/kernel.ts';
import { collapse } from '../core/loops.ts';
import { fillBytes } from './bytes.ts';
import { copy } from './copies.ts';

/** The change of a selected element or its partner. */
type Move = 'read' | 'write' | 'add' | 'prod' | 'max' | 'min';

type Three<T> = readonly [whole: T, index: T, partner: T];

/** The innermost loop: its length, the operands' steps, the entries that an index may select, and their step. */
type Run = readonly [number, number, number, number, number, number];

type Elements = Float32Array | Float64Array | Int32Array | Uint16Array | Uint8Array;

export const indexingMethods = hostMethods({
  outOfRange(op: string, index: number, size: number, dim: number, from: number): never {
    return this.reject({
      what: `${op}: an index is out of range`,
      given: `index ${index} in dimension ${dim} of size ${size}`,
      expected: size === 0 ? 'no indices: the dimension is empty' : `${from} to ${size - 1}`,
      remedy: 'check the indices, and the dimension that they are for',
    });
  },

  // One index per element

  /**
   * Handles a run that starts at the given positions of the three operands. Returns the position of an index that is
   * out of range, or −1. Each move has a separate loop with local numbers: captured numbers, or a call per element,
   * would take several times as long.
   */
  readRun(run: Numbers, places: Int32Array, data: Elements, at: Numbers): number {
    const [length, wholeStep, indexStep, partnerStep, size, step] = run as unknown as Run;
    let [whole, index, partner] = at as unknown as Three<number>;
    for (let k = 0; k < length; k++) {
      const place = places[index]!;
      if (place < 0 || place >= size) return index;
      data[partner] = data[whole + place * step]!;
      whole += wholeStep;
      index += indexStep;
      partner += partnerStep;
    }
    return -1;
  },

  writeRun(run: Numbers, places: Int32Array, data: Elements, at: Numbers): number {
    const [length, wholeStep, indexStep, partnerStep, size, step] = run as unknown as Run;
    let [whole, index, partner] = at as unknown as Three<number>;
    for (let k = 0; k < length; k++) {
      const place = places[index]!;
      if (place < 0 || place >= size) return index;
      data[whole + place * step] = data[partner]!;
      whole += wholeStep;
      index += indexStep;
      partner += partnerStep;
    }
    return -1;
  },

  addRun(run: Numbers, places: Int32Array, data: Elements, at: Numbers): number {
    const [length, wholeStep, indexStep, partnerStep, size, step] = run as unknown as Run;
    let [whole, index, partner] = at as unknown as Three<number>;
    for (let k = 0; k < length; k++) {
      const place = places[index]!;
      if (place < 0 || place >= size) return index;
      data[whole + place * step]! += data[partner]!;
      whole += wholeStep;
      index += indexStep;
      partner += partnerStep;
    }
    return -1;
  },

  /** If the tensor's own values don't count, `taken` is not empty, and the first update of an element replaces it. */
  combineRun(
    run: Numbers,
    places: Int32Array,
    data: Elements,
    at: Numbers,
    move: Move,
    taken: Uint8Array,
    first: number,
  ): number {
    const [length, wholeStep, indexStep, partnerStep, size, step] = run as unknown as Run;
    let [whole, index, partner] = at as unknown as Three<number>;
    for (let k = 0; k < length; k++) {
      const place = places[index]!;
      if (place < 0 || place >= size) return index;
      const to = whole + place * step;
      const value = data[partner]!;
      const own = data[to]!;
      if (taken.length > 0 && taken[to - first] === 0) {
        taken[to - first] = 1;
        data[to] = value;
      } else if (move === 'prod') data[to] = own * value;
      else if (Number.isNaN(value)) data[to] = value;
      else if (move === 'max' ? value > own : value < own) data[to] = value;
      whole += wholeStep;
      index += indexStep;
      partner += partnerStep;
    }
    return -1;
  },

  /** Moves along `dim` between the elements of `whole` that `index` selects and partners of the same shape. */
  moveElements(
    op: string,
    move: Move,
    view: View,
    starts: Numbers,
    outer: Numbers,
    outerSteps: readonly Numbers[],
    run: Numbers,
    dim: number,
    /** The size of `whole` if its own values don't count, otherwise 0. */
    untaken: number,
  ): void {
    const data = this[view];
    const places = this.i32;
    const at = [...starts];
    const taken = new Uint8Array(untaken);
    this.walk(outer, outerSteps, at, () => {
      let wrong: number;
      if (move === 'read') wrong = this.readRun(run, places, data, at);
      else if (move === 'write') wrong = this.writeRun(run, places, data, at);
      else if (move === 'add') wrong = this.addRun(run, places, data, at);
      else wrong = this.combineRun(run, places, data, at, move, taken, starts[0]!);
      if (wrong >= 0) this.outOfRange(op, places[wrong]!, run[4]!, dim, 0);
    });
  },

  // One index per entry

  /** Returns the first element of each selected row within an outer index. */
  rows(
    op: string,
    index: number,
    chosen: number,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
    wraps: boolean,
  ): Int32Array {
    const indices = this.i32;
    const rows = new Int32Array(chosen);
    for (let k = 0; k < dims.length; k++) {
      const [size, stride, first] = [sizes[k]!, strides[k]!, index + k * chosen];
      for (let b = 0; b < chosen; b++) {
        const signedIndex = indices[first + b]!;
        const place = signedIndex < 0 && wraps ? signedIndex + size : signedIndex;
        if (place < 0 || place >= size)
          this.outOfRange(op, signedIndex, size, dims[k]!, wraps ? -size : 0);
        rows[b]! += Math.imul(place, stride);
      }
    }
    return rows;
  },

  /** Moves the rows of `whole` that the index tensors select, each `inner` elements long, and their partners. */
  moveRows(
    op: string,
    move: Move,
    view: View,
    [whole, index, partner]: Numbers,
    [outer, outerStep, inner, chosen]: Numbers,
    dims: Numbers,
    sizes: Numbers,
    strides: Numbers,
    wraps: boolean,
  ): void {
    const data = this[view];
    const rows = this.rows(op, index!, chosen!, dims, sizes, strides, wraps);
    let to = partner!;
    for (let o = 0; o < outer!; o++) {
      const start = whole! + o * outerStep!;
      if (move === 'read' && inner === 1) {
        for (let b = 0; b < rows.length; b++) data[to++] = data[start + rows[b]!]!;
        continue;
      }
      if (move === 'add' && inner === 1) {
        for (let b = 0; b < rows.length; b++) data[start + rows[b]!]! += data[to++]!;
        continue;
      }
      for (let b = 0; b < chosen!; b++, to += inner!) {
        const row = start + rows[b]!;
        if (move === 'add') {
          for (let i = 0; i < inner!; i++) data[row + i]! += data[to + i]!;
        } else if (move === 'write') data.copyWithin(row, to, to + inner!);
        else data.copyWithin(to, row, row + inner!);
      }
    }
  },
});

const without = (list: readonly number[], dim: number) => list.map((s, d) => (d === dim ? 0 : s));

function perElement(
  op: string,
  move: Move,
  metas: Three<TensorMeta>,
  dim: number,
  isOwnUsed = true,
): (operands: Three<Operand>) => void {
  const [whole, index, partner] = metas;
  const strides = [without(whole.strides, dim), index.strides, partner.strides];
  const loops = collapse(index.shape, strides);
  const args = [
    loops.shape.slice(0, -1),
    loops.strides.map((each) => each.slice(0, -1)),
    [
      loops.shape.at(-1) ?? 1,
      ...loops.strides.map((each) => each.at(-1) ?? 0),
      whole.shape[dim]!,
      whole.strides[dim]!,
    ],
    dim,
    isOwnUsed ? 0 : sizeOf(whole.shape),
  ] as const;
  const view = viewOf[whole.dtype];
  return (operands) => {
    const at = placesOf(operands, metas);
    hostCalls.call(indexingMethods, 'moveElements', [op, move, view, at, ...args]);
  };
}

function perRow(
  op: string,
  move: Move,
  metas: Three<TensorMeta>,
  attrs: Attrs,
): (operands: Three<Operand>) => void {
  const [whole, index] = metas;
  expectContiguous(...metas);
  const dim = attrs.dim as number;
  const [count, ...chosenShape] = index.shape as [number, ...number[]];
  const sizes = whole.shape.slice(dim, dim + count);
  const inner = sizeOf(whole.shape.slice(dim + count));
  const args = [
    [sizeOf(whole.shape.slice(0, dim)), sizeOf(sizes) * inner, inner, sizeOf(chosenShape)],
    sizes.map((_, k) => dim + k),
    sizes,
    contiguousStrides(whole.shape).slice(dim, dim + count),
    Boolean(attrs.wraps),
  ] as const;
  const view = viewOf[whole.dtype];
  return (operands) => {
    const at = placesOf(operands, metas);
    hostCalls.call(indexingMethods, 'moveRows', [op, move, view, at, ...args]);
  };
}

type MoveElements = (operands: Three<Operand>) => void;

const reading =
  (move: MoveElements): Launch =>
  ([x, index], [out]) =>
    move([x!, index!, out!]);

/** Adds to zeros. */
function adding({ shape, dtype }: TensorMeta, move: MoveElements): Launch {
  const bytes = sizeOf(shape) * dtypes[dtype].bytes;
  return ([dy, index], [dx]) => {
    fillBytes(addressOf(dx!, dtype), bytes);
    move([dx!, index!, dy!]);
  };
}

/** Writes to a copy of operand 0. */
function onCopy(x: TensorMeta, out: TensorMeta, move: MoveElements): Launch {
  const start = copy([x], [out], {});
  return ([base, index, source], [target]) => {
    start([base!], [target!]);
    move([target!, index!, source!]);
  };
}

export const gather: KernelFactory = ([x, index], [out], { dim }) =>
  reading(perElement('gather', 'read', [x!, index!, out!], dim as number));

export const gatherGrad: KernelFactory = ([dy, index], [dx], { dim }) =>
  adding(dx!, perElement('gather', 'add', [dx!, index!, dy!], dim as number));

const scattering =
  (op: string, move: Move): KernelFactory =>
  ([x, index, source], [out], { dim }) =>
    onCopy(x!, out!, perElement(op, move, [out!, index!, source!], dim as number));

export const scatter = scattering('scatter', 'write');
export const scatterAdd = scattering('scatterAdd', 'add');

export const scatterReduce: KernelFactory = ([x, index, source], [out], attrs) => {
  const { reduce, dim, includeSelf } = attrs as { reduce: Move; dim: number; includeSelf: boolean };
  const metas = [out!, index!, source!] as const;
  return onCopy(x!, out!, perElement('scatterReduce', reduce, metas, dim, includeSelf));
};

export const index: KernelFactory = ([x, places], [out], attrs) =>
  reading(perRow('index', 'read', [x!, places!, out!], attrs));

export const indexGrad: KernelFactory = ([dy, places], [dx], attrs) =>
  adding(dx!, perRow('index', 'add', [dx!, places!, dy!], attrs));

export const indexPut: KernelFactory = ([x, places, source], [out], attrs) =>
  onCopy(x!, out!, perRow('indexPut', 'write', [out!, places!, source!], attrs));

export const indexAdd: KernelFactory = ([x, places, source], [out], attrs) =>
  onCopy(x!, out!, perRow('indexAdd', 'add', [out!, places!, source!], attrs));
