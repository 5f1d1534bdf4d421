import type { Device, Launch } from '../../device/device.ts';
import type { Attrs, AttrValue } from '../../device/kernel-op.ts';
import { launchAttrs } from '../../device/symbolic-attrs.ts';
import { contiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import type { DType } from '../../spec/dtype.ts';
import { type Shape, sizeOf } from '../../spec/shape.ts';
import type { OpRecord } from '../record/define-op.ts';

/** An op's kernel bound to operand metas, with the metas of its results. */
export interface PreparedCall {
  /** Metas of the results; none for an in-place write. */
  readonly outputs: readonly TensorMeta[];
  /** The size of each result in bytes. */
  readonly bytes: readonly number[];
  readonly launch: Launch;
  /** Whether each launch receives the attributes, because their numbers may differ from the bound ones. */
  readonly varies: boolean;
}

interface KnownCall extends PreparedCall {
  readonly device: Device;
  readonly inputs: readonly Operand[];
  readonly attrs: Attrs;
}

/** The facts about an operand that a bound kernel relies on. */
export interface Operand {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly strides: readonly number[];
}

/** The number of cached calls per op. */
const mostKnown = 8;

interface KnownCalls {
  readonly list: KnownCall[];
  /** The index to replace next when the list is full. */
  next: number;
  /** Attributes that each launch receives. */
  readonly varying: ReadonlySet<string>;
}

const known = new WeakMap<OpRecord, KnownCalls>();

/**
 * Returns the bound kernel for these operands: one of the op's cached kernels, or a new one. Only a new one runs
 * inference, which may throw.
 */
export function preparedCall(
  op: OpRecord,
  inputs: readonly TensorMeta[],
  attrs: Attrs,
  device: Device,
): PreparedCall {
  if (!isKept(inputs, device)) return prepare(op, inputs, attrs, device);
  let calls = known.get(op);
  if (!calls) {
    calls = { list: [], next: 0, varying: launchAttrs(op) };
    known.set(op, calls);
  }
  const { list, varying } = calls;
  for (let i = 0; i < list.length; i++) {
    const call = list[i]!;
    const fits = call.device === device && sameOperands(call.inputs, inputs);
    if (fits && sameAttrs(call.attrs, attrs, varying)) return call;
  }
  const operands = operandsOf(inputs);
  const prepared = prepare(op, inputs, attrs, device);
  const call = { ...prepared, varies: varying.size > 0, device, inputs: operands, attrs };
  if (list.length < mostKnown) list.push(call);
  else {
    list[calls.next] = call;
    calls.next = (calls.next + 1) % mostKnown;
  }
  return call;
}

/** Whether a bound kernel may be reused. GPU devices cache, and evict, kernels themselves. */
export const isKept = (inputs: readonly TensorMeta[], device: Device): boolean =>
  device.kind === 'cpu' && inputs.length > 0 && inputs[0]!.device === device;

export const operandsOf = (inputs: readonly TensorMeta[]): Operand[] =>
  inputs.map(({ dtype, shape, strides }) => ({ dtype, shape, strides }));

function prepare(
  op: OpRecord,
  inputs: readonly TensorMeta[],
  attrs: Attrs,
  device: Device,
): PreparedCall {
  const specs = op.infer(inputs, attrs);
  const outputs = op.inPlace ? [] : specs.map((spec) => contiguousMeta(spec, device));
  const bytes = outputs.map(({ dtype, shape }) => sizeOf(shape) * device.elementBytes(dtype));
  const written = op.inPlace ? [inputs[0]!] : outputs;
  const launch = device.prepare(op, inputs, written, attrs);
  return { outputs, bytes, launch, varies: false };
}

export function sameOperands(left: readonly Operand[], right: readonly Operand[]): boolean {
  if (left.length !== right.length) return false;
  for (let i = 0; i < left.length; i++) {
    const [a, b] = [left[i]!, right[i]!];
    if (a.dtype !== b.dtype || !sameNumbers(a.shape, b.shape)) return false;
    if (!sameNumbers(a.strides, b.strides)) return false;
  }
  return true;
}

/** Results of a prepared call share their arrays, so these are usually identical. */
function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function sameAttrs(left: Attrs, right: Attrs, varying: ReadonlySet<string>): boolean {
  if (left === right) return true;
  let count = 0;
  for (const name in left) {
    // Values other than numbers are checked again, and rejected.
    if (varying.has(name)) {
      if (typeof right[name] !== 'number') return false;
    } else if (!sameValue(left[name]!, right[name])) return false;
    count++;
  }
  for (const _ in right) count--;
  return count === 0;
}

function sameValue(a: AttrValue, b: AttrValue | undefined): boolean {
  if (Object.is(a, b)) return true;
  return Array.isArray(a) && Array.isArray(b) && sameNumbers(a, b);
}
