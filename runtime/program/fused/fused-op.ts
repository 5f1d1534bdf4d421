import { fused } from '../../device/cpu/fused/fused.ts';
import type { Device } from '../../device/device.ts';
import type { Attrs, AttrValue } from '../../device/kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { invariant } from '../../errors/invariant.ts';
import { E, type Expr } from '../../ops/expr/expr.ts';
import {
  type FusedBody,
  type FusedOperand,
  type FusedPart,
  fusedAttr,
} from '../../ops/expr/fused-body.ts';
import { isNumber } from '../../ops/numbers/symbolic-number.ts';
import type { OpRecord } from '../../ops/record/define-op.ts';
import type { Shape } from '../../spec/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';

/** The name of fused ops in saved files. */
export const fusedName = 'fused';

const source = E.input(1);

/** Returns the unfused ops inside an op, recursively. */
export function leavesOf(op: ProgramOp): readonly ProgramOp[] {
  return op.parts ? op.parts.flatMap(leavesOf) : [op];
}

/** Returns the op's per-element expression; null if the op can't be part of a fused op. */
export function exprOf({ kernel, inPlace }: OpRecord): Expr | null {
  if (kernel.kind === 'pointwise') return kernel.expr;
  return inPlace && kernel.kind === 'named' && kernel.name === 'copyInto' ? source : null;
}

/** Returns the value that an op produces or writes in place. */
export function resultOf({ op, inputs, outputs }: ProgramOp): ValueId {
  return op.inPlace ? inputs[0]! : outputs[0]!;
}

/** Returns the shape over which a part iterates. */
export function shapeOf(part: ProgramOp, values: ValueTable): Shape {
  return values[resultOf(part)]!.shape;
}

/**
 * Returns one op that performs all `parts`, which iterate over one shape. `results` are the values read by other ops;
 * the rest take no memory.
 */
export function fusedOp(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): ProgramOp {
  const inputs: ValueId[] = [];
  const operandOf = new Map<ValueId, number>();
  /** The part that last wrote each value. */
  const latest = new Map<ValueId, number>();
  const defined = new Set<ValueId>();
  const operand = (id: ValueId): number => {
    let index = operandOf.get(id);
    if (index === undefined) {
      index = inputs.push(id) - 1;
      operandOf.set(id, index);
    }
    return index;
  };
  const fusedParts = parts.map((part, i): FusedPart => {
    const expr = exprOf(part.op);
    invariant(expr !== null, `${part.op.name} can't be part of a fused op`);
    const operands = part.inputs.map((id): FusedOperand => {
      const from = latest.get(id);
      return from === undefined ? { operand: operand(id) } : { part: from };
    });
    const result = resultOf(part);
    if (!part.op.inPlace) defined.add(result);
    latest.set(result, i);
    return { expr, operands, dtype: values[result]!.dtype };
  });
  const writes = [...latest].flatMap(([id, part]) =>
    defined.has(id) ? [] : [{ operand: operand(id), part }],
  );
  const body: FusedBody = {
    shape: shapeOf(parts[0]!, values),
    parts: fusedParts,
    results: results.map((id) => latest.get(id)!),
    writes,
  };
  const attrs = attrsOf(parts, fusedAttr, (value) => isNumber(value) || typeof value === 'boolean');
  const { device } = values[resultOf(parts[0]!)]!;
  const kernel = { kind: 'fused', body, onCpu: fused } as const;
  return compositeOp(parts, inputs, results, { kernel, device, writes, attrs });
}

interface Composite {
  readonly kernel: OpRecord['kernel'];
  /** The device of all values; random parts, which read none, need it. */
  readonly device: Device;
  readonly writes: readonly unknown[];
  readonly attrs: Attrs;
  /** The operands; by default any number, all read. */
  readonly operands?: OpRecord['operands'];
}

/** Returns the op that represents `parts`: named after them, at the first known position. */
export function compositeOp(
  parts: readonly ProgramOp[],
  inputs: readonly ValueId[],
  results: readonly ValueId[],
  { kernel, device, writes, attrs, operands }: Composite,
): ProgramOp {
  const op: OpRecord = {
    name: nameOf(parts),
    operands: operands ?? [{ name: 'operands', use: 'data' }],
    variadic: operands === undefined,
    infer: (metas) => inferResults(parts, inputs, results, metas, device),
    kernel,
    layout: 'any',
    inPlace: false,
    vjp: undefined,
    effect: writes.length > 0,
  };
  return inPlaceOf(parts, { op, inputs, outputs: results, attrs });
}

/** Returns an op in place of `parts`, which it performs. */
export function inPlaceOf(
  parts: readonly ProgramOp[],
  merged: Pick<ProgramOp, 'op' | 'inputs' | 'outputs' | 'attrs'>,
): ProgramOp {
  return {
    ...merged,
    recordsGrad: parts.some(({ recordsGrad }) => recordsGrad),
    at: positionIn(parts),
    parts,
  };
}

function positionIn(ops: readonly ProgramOp[]): ProgramOp['at'] {
  for (const { parts, at } of ops) {
    const found = parts ? positionIn(parts) : at;
    if (found) return found;
  }
  return undefined;
}

/** Returns the attributes of all parts, renamed by `nameIn`. */
export function attrsOf(
  parts: readonly ProgramOp[],
  nameIn: (part: number, name: string) => string,
  isTaken: (value: AttrValue) => boolean = () => true,
): Attrs {
  const attrs: Record<string, AttrValue> = {};
  parts.forEach((part, i) => {
    for (const [name, value] of Object.entries(part.attrs)) {
      if (isTaken(value)) attrs[nameIn(i, name)] = value;
    }
  });
  return attrs;
}

/** The largest number of parts listed by name; beyond it, the name contains the count. */
const namedParts = 6;

/** Names the first ops, skipping views. */
function nameOf(parts: readonly ProgramOp[]): string {
  const ops = parts.flatMap(leavesOf).filter(({ op }) => op.kernel.kind !== 'view');
  const names = ops.slice(0, namedParts).map(({ op }) => op.name);
  const more = ops.length - names.length;
  return `${fusedName}(${names.join('·')}${more > 0 ? `·${more} more` : ''})`;
}

/** Infers every part's results; throws the part's error for operands it rejects. */
function inferResults(
  parts: readonly ProgramOp[],
  inputs: readonly ValueId[],
  results: readonly ValueId[],
  metas: readonly TensorMeta[],
  device: Device,
): TensorMeta[] {
  const known = new Map(inputs.map((id, i) => [id, metas[i]!]));
  for (const { op, inputs: operands, outputs, attrs } of parts) {
    const operandMetas = operands.map((id) => known.get(id)!);
    const specs = op.infer(operandMetas, attrs);
    outputs.forEach((id, i) => {
      known.set(id, contiguousMeta(specs[i]!, operandMetas[0]?.device ?? device));
    });
  }
  return results.map((id) => known.get(id)!);
}
