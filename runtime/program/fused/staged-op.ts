import { staged } from '../../device/cpu/fused/staged.ts';
import { type OperandUse, operandUse } from '../../device/kernel-op.ts';
import { stageAttr } from '../../device/staged-body.ts';
import { sameShape } from '../../spec/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';
import { attrsOf, compositeOp, exprOf, fusedOp, shapeOf } from './fused-op.ts';
import { headedBody } from './headed-parts.ts';
import { areApart, listOp } from './list-op.ts';
import { haveCommonRows, stagedBody } from './row-parts.ts';
import { tiledBody } from './tiled-parts.ts';

/** Whether the parts are pointwise over one shape, as in one fused kernel. */
function arePointwise(parts: readonly ProgramOp[], values: ValueTable): boolean {
  if (parts.some(({ op, parts: inner }) => inner || exprOf(op) === null)) return false;
  const shape = shapeOf(parts[0]!, values);
  return parts.every((part) => sameShape(shapeOf(part, values), shape));
}

/** Returns one op that runs all parts: separately, in one pass over the elements, or row by row. Null if none can. */
export function oneOp(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): ProgramOp | null {
  if (parts.length > 1 && areApart(parts)) return listOp(parts, results, values);
  return arePointwise(parts, values)
    ? fusedOp(parts, results, values)
    : stagedOp(parts, results, values);
}

/**
 * Returns one op that runs all `parts` on a few rows at a time: ops with independent rows, fused ops, and views that
 * reshape a value; on a GPU, a product or sum and pointwise ops on its elements. `results` are the values read by other
 * ops; the rest take no memory. Null if the parts have no rows in common.
 */
function stagedOp(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): ProgramOp | null {
  const defined = new Set(parts.flatMap(({ outputs }) => outputs));
  const uses = new Map<ValueId, OperandUse>();
  for (const { op, inputs } of parts) {
    inputs.forEach((id, i) => {
      if (defined.has(id)) return;
      const use = operandUse(op, i);
      if (use === 'data' || !uses.has(id)) uses.set(id, use);
    });
  }
  const inputs = [...uses.keys()];
  const { device } = values[[...results, ...inputs][0]!]!;
  const body =
    device.innerBytes > 0
      ? stagedBody(parts, results, inputs, values)
      : headedBody(parts, results, inputs, values);
  if (!body) return device.mostTileColumns > 0 ? tiledOp(parts, results, inputs, values) : null;
  return compositeOp(parts, inputs, results, {
    kernel: { kind: 'staged', body, onCpu: staged },
    device,
    writes: body.writes,
    attrs: attrsOf(parts, stageAttr),
    operands: [...uses.values()].map((use, i) => ({ name: `operand${i}`, use })),
  });
}

/** Returns one op that computes attention, or its gradient, tile by tile. Null for other parts. */
function tiledOp(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  inputs: readonly ValueId[],
  values: ValueTable,
): ProgramOp | null {
  const { device } = values[results[0]!]!;
  const body = tiledBody(parts, results, inputs, values, device);
  if (!body) return null;
  return compositeOp(parts, inputs, results, {
    kernel: { kind: 'tiled', body },
    device,
    writes: [],
    attrs: attrsOf(parts, stageAttr),
  });
}

/** Whether `stagedOp` could combine the parts if other ops read all their values. */
export function mayBeStaged(parts: readonly ProgramOp[], values: ValueTable): boolean {
  const { inputs, outputs } = parts[0]!;
  const { device } = values[[...outputs, ...inputs][0]!]!;
  if (device.innerBytes > 0) return haveCommonRows(parts, values);
  const defined = parts.flatMap(({ outputs }) => outputs);
  return stagedOp(parts, defined, values) !== null;
}
