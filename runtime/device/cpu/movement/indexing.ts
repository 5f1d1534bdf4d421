import { ArgumentError } from '../../../errors/errors.ts';
import { dtypes, type TypedArray } from '../../../spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../../../spec/shape.ts';
import type { Launch, Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { addressOf, expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { collapse, walk } from '../core/loops.ts';
import { fillBytes } from './bytes.ts';
import { copy } from './copies.ts';

function outOfRange(op: string, index: number, size: number, dim: number, from: number): never {
  throw new ArgumentError({
    what: `${op}: an index is out of range`,
    given: `index ${index} in dimension ${dim} of size ${size}`,
    expected: size === 0 ? 'no indices: the dimension is empty' : `${from} to ${size - 1}`,
    remedy: 'check the indices, and the dimension that they are for',
  });
}

// One index per element

const without = (list: readonly number[], dim: number) => list.map((s, d) => (d === dim ? 0 : s));

/** The innermost loop over elements of `index`: how many, and the steps of each operand. */
interface Run {
  readonly length: number;
  /** The entries that an index may select, and the step from one to the next. */
  readonly size: number;
  readonly step: number;
  readonly wholeStep: number;
  readonly indexStep: number;
  readonly partnerStep: number;
}

/**
 * Handles a run that starts at the given positions of the three operands. Returns the position of an index that is
 * out of range, or −1. Each op has a loop of its own: a call for every element would take several times as long.
 */
type Loop = (
  run: Run,
  places: Int32Array,
  data: TypedArray,
  whole: number,
  index: number,
  partner: number,
) => number;

const read: Loop = (run, places, data, whole, index, partner) => {
  const { length, size, step, wholeStep, indexStep, partnerStep } = run;
  for (let k = 0; k < length; k++) {
    const place = places[index]!;
    if (place < 0 || place >= size) return index;
    data[partner] = data[whole + place * step]!;
    whole += wholeStep;
    index += indexStep;
    partner += partnerStep;
  }
  return -1;
};

const write: Loop = (run, places, data, whole, index, partner) => {
  const { length, size, step, wholeStep, indexStep, partnerStep } = run;
  for (let k = 0; k < length; k++) {
    const place = places[index]!;
    if (place < 0 || place >= size) return index;
    data[whole + place * step] = data[partner]!;
    whole += wholeStep;
    index += indexStep;
    partner += partnerStep;
  }
  return -1;
};

const add: Loop = (run, places, data, whole, index, partner) => {
  const { length, size, step, wholeStep, indexStep, partnerStep } = run;
  for (let k = 0; k < length; k++) {
    const place = places[index]!;
    if (place < 0 || place >= size) return index;
    data[whole + place * step]! += data[partner]!;
    whole += wholeStep;
    index += indexStep;
    partner += partnerStep;
  }
  return -1;
};

/** A loop that calls `body` with the positions of each element that is selected, and of its partner. */
const calling =
  (body: (whole: number, partner: number) => void): Loop =>
  (run, places, _data, whole, index, partner) => {
    const { length, size, step, wholeStep, indexStep, partnerStep } = run;
    for (let k = 0; k < length; k++) {
      const place = places[index]!;
      if (place < 0 || place >= size) return index;
      body(whole + place * step, partner);
      whole += wholeStep;
      index += indexStep;
      partner += partnerStep;
    }
    return -1;
  };

/**
 * Takes a loop over the elements of `index`, their partners of the same shape, and the elements of `whole` that they
 * select along `dim`; `whole` and the partner have the same dtype.
 */
function perElement(
  op: string,
  [whole, index, partner]: readonly [TensorMeta, TensorMeta, TensorMeta],
  dim: number,
): (operands: readonly [Operand, Operand, Operand], loop: Loop) => void {
  const strides = [without(whole.strides, dim), index.strides, partner.strides];
  const loops = collapse(index.shape, strides);
  const outer = {
    shape: loops.shape.slice(0, -1),
    strides: loops.strides.map((own) => own.slice(0, -1)),
  };
  const length = loops.shape.at(-1) ?? 1;
  const [wholeStep, indexStep, partnerStep] = loops.strides.map((own) => own.at(-1) ?? 0) as [
    number,
    number,
    number,
  ];
  const size = whole.shape[dim]!;
  const run = { length, size, step: whole.strides[dim]!, wholeStep, indexStep, partnerStep };
  return ([w, i, p], loop) => {
    const at = [indexOf(w, whole.dtype), indexOf(i, 'int32'), indexOf(p, partner.dtype)];
    const [places, data] = [heap.i32, heap.view(whole.dtype)];
    walk(outer, at, () => {
      const wrong = loop(run, places, data, at[0]!, at[1]!, at[2]!);
      if (wrong >= 0) outOfRange(op, places[wrong]!, size, dim, 0);
    });
  };
}

export const gather: KernelFactory = ([x, index], [out], { dim }) => {
  const each = perElement('gather', [x!, index!, out!], dim as number);
  return ([source, places], [target]) => each([source!, places!, target!], read);
};

function clear(target: Operand, { shape, dtype }: TensorMeta): void {
  const from = addressOf(target, dtype);
  fillBytes(from, sizeOf(shape) * dtypes[dtype].bytes);
}

export const gatherGrad: KernelFactory = ([dy, index], [dx], { dim }) => {
  const each = perElement('gather', [dx!, index!, dy!], dim as number);
  return ([from, places], [target]) => {
    clear(target!, dx!);
    each([target!, places!, from!], add);
  };
};

/** Writes to a copy of operand 0. */
const intoCopy =
  (op: string, loop: Loop): KernelFactory =>
  ([x, index, source], [out], { dim }) => {
    const start = copy([x!], [out!], {});
    const each = perElement(op, [out!, index!, source!], dim as number);
    return ([base, places, from], [target]) => {
      start([base!], [target!]);
      each([target!, places!, from!], loop);
    };
  };

export const scatter = intoCopy('scatter', write);
export const scatterAdd = intoCopy('scatterAdd', add);

type Combine = (a: number, b: number) => number;

/** NaN is kept, whichever operand it is. */
const combinations: Readonly<Record<string, Combine>> = {
  prod: (a, b) => a * b,
  max: (a, b) => (b > a || Number.isNaN(b) ? b : a),
  min: (a, b) => (b < a || Number.isNaN(b) ? b : a),
};

export const scatterReduce: KernelFactory = ([x, index, source], [out], attrs) => {
  const start = copy([x!], [out!], {});
  const each = perElement('scatterReduce', [out!, index!, source!], attrs.dim as number);
  const combine = combinations[attrs.reduce as string]!;
  const size = sizeOf(out!.shape);
  return ([base, places, from], [target]) => {
    start([base!], [target!]);
    const data = heap.view(out!.dtype);
    const first = indexOf(target!, out!.dtype);
    // Without the tensor's own value, the first update is taken unchanged.
    const taken = attrs.includeSelf ? null : new Uint8Array(size);
    const combined = calling((whole, partner) => {
      if (taken && taken[whole - first] === 0) {
        taken[whole - first] = 1;
        data[whole] = data[partner]!;
      } else data[whole] = combine(data[whole]!, data[partner]!);
    });
    each([target!, places!, from!], combined);
  };
};

// One index per entry

/** Rows of `whole` that the index tensors select, each `inner` elements long. */
interface Entries {
  readonly outer: number;
  /** The elements of `whole` between outer indices. */
  readonly outerStep: number;
  readonly inner: number;
  readonly chosen: number;
  /** Returns the first element of each selected row within an outer index, checking the indices. */
  readonly rows: (index: Operand) => Int32Array;
}

function entriesOf(op: string, whole: TensorMeta, index: TensorMeta, attrs: Attrs): Entries {
  expectContiguous(whole, index);
  const dim = attrs.dim as number;
  const [count, ...chosenShape] = index.shape as [number, ...number[]];
  const chosen = sizeOf(chosenShape);
  const strides = contiguousStrides(whole.shape);
  const sizes = whole.shape.slice(dim, dim + count);
  const inner = sizeOf(whole.shape.slice(dim + count));
  const rows = (operand: Operand): Int32Array => {
    const from = indexOf(operand, 'int32');
    const result = new Int32Array(chosen);
    for (let k = 0; k < count; k++) {
      const size = sizes[k]!;
      for (let b = 0; b < chosen; b++) {
        const given = heap.i32[from + k * chosen + b]!;
        const place = given < 0 && attrs.wraps ? given + size : given;
        if (place < 0 || place >= size)
          outOfRange(op, given, size, dim + k, attrs.wraps ? -size : 0);
        result[b]! += place * strides[dim + k]!;
      }
    }
    return result;
  };
  return {
    outer: sizeOf(whole.shape.slice(0, dim)),
    outerStep: sizeOf(sizes) * inner,
    inner,
    chosen,
    rows,
  };
}

type RowBody = (row: number, partner: number) => void;

/** Calls `body` for each selected row, with its position and its partner's, in order. */
function eachRow(entries: Entries, index: Operand, whole: number, partner: number, body: RowBody) {
  const rows = entries.rows(index);
  let to = partner;
  for (let o = 0; o < entries.outer; o++) {
    for (let b = 0; b < entries.chosen; b++) {
      body(whole + o * entries.outerStep + rows[b]!, to);
      to += entries.inner;
    }
  }
}

/** For rows of one element. */
function readElements(
  entries: Entries,
  data: TypedArray,
  index: Operand,
  whole: number,
  partner: number,
): void {
  const rows = entries.rows(index);
  let to = partner;
  for (let o = 0; o < entries.outer; o++) {
    const start = whole + o * entries.outerStep;
    for (let b = 0; b < entries.chosen; b++) data[to++] = data[start + rows[b]!]!;
  }
}

function copyRow(data: { copyWithin(to: number, from: number, end: number): unknown }, n: number) {
  return (to: number, from: number) => data.copyWithin(to, from, from + n);
}

export const index: KernelFactory = ([x, places], [out], attrs) => {
  const entries = entriesOf('index', x!, places!, attrs);
  const { inner } = entries;
  const { dtype } = x!;
  return ([source, chosen], [target]) => {
    const data = heap.view(dtype);
    const copied = copyRow(data, inner);
    const [whole, partner] = [indexOf(source!, dtype), indexOf(target!, out!.dtype)];
    if (inner === 1) readElements(entries, data, chosen!, whole, partner);
    else eachRow(entries, chosen!, whole, partner, (row, to) => copied(to, row));
  };
};

function addRows(entries: Entries, { dtype }: TensorMeta) {
  return (places: Operand, target: Operand, from: Operand): void => {
    const data = heap.view(dtype);
    const [whole, first] = [indexOf(target, dtype), indexOf(from, dtype)];
    const { outer, outerStep, inner, chosen } = entries;
    const rows = entries.rows(places);
    let partner = first;
    for (let o = 0; o < outer; o++) {
      for (let b = 0; b < chosen; b++) {
        const row = whole + o * outerStep + rows[b]!;
        for (let i = 0; i < inner; i++) data[row + i]! += data[partner + i]!;
        partner += inner;
      }
    }
  };
}

export const indexGrad: KernelFactory = ([dy, places], [dx], attrs) => {
  expectContiguous(dy!);
  const add = addRows(entriesOf('index', dx!, places!, attrs), dx!);
  return ([from, chosen], [target]) => {
    clear(target!, dx!);
    add(chosen!, target!, from!);
  };
};

function onCopy(x: TensorMeta, out: TensorMeta, write: Launch): Launch {
  const start = copy([x], [out], {});
  return (operands, targets) => {
    start([operands[0]!], targets);
    write(operands, targets);
  };
}

export const indexPut: KernelFactory = ([x, places], [out], attrs) => {
  const entries = entriesOf('indexPut', out!, places!, attrs);
  const { dtype } = out!;
  return onCopy(x!, out!, ([, chosen, from], [target]) => {
    const copied = copyRow(heap.view(dtype), entries.inner);
    eachRow(entries, chosen!, indexOf(target!, dtype), indexOf(from!, dtype), copied);
  });
};

export const indexAdd: KernelFactory = ([x, places], [out], attrs) => {
  const add = addRows(entriesOf('indexAdd', out!, places!, attrs), out!);
  return onCopy(x!, out!, ([, chosen, from], [target]) => add(chosen!, target!, from!));
};
