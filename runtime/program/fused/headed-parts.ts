import type { KernelName } from '../../device/kernel-names.ts';
import { operandUse } from '../../device/kernel-op.ts';
import type { Stage, StagedBody, StagePlace } from '../../device/staged-body.ts';
import { isChanging, presentAttrs } from '../../device/symbolic-attrs.ts';
import { isContiguousMeta } from '../../device/tensor-meta.ts';
import { sameShape } from '../../spec/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';
import { writtenOperands } from '../writes.ts';
import { exprOf, shapeOf } from './fused-op.ts';

/** All elements as one row: a GPU runs all stages for each element. */
const wholeCut: Stage['cut'] = { count: 1, inputs: [], outputs: [], attrs: () => ({}), least: 1 };

/** Ops whose elements may pass through pointwise ops before they are stored. */
const heads: ReadonlySet<KernelName> = new Set<KernelName>([
  'matmul',
  'sum',
  'sumTo',
  'conv2d',
  'conv2dInputGrad',
  'convTranspose2d',
]);

const isHead = ({ op }: ProgramOp) => op.kernel.kind === 'named' && heads.has(op.kernel.name);

/** Whether the op may be part of a product or sum fused with pointwise ops on its elements, on a GPU that fuses. */
export function isHeadedPart(given: ProgramOp, values: ValueTable): boolean {
  const { op, inputs, outputs, attrs, before, call, regions } = given;
  const first = inputs[0] ?? outputs[0];
  if (first === undefined) return false;
  const { device } = values[first]!;
  // On the CPU, stages need inner memory, which it lacks where no kernels can be generated.
  if (device.kind !== 'gpu' || !device.fusesPointwise) return false;
  if (before !== undefined || call || regions || op.mayRefuse || op.target) return false;
  if (!isHead(given) && op.kernel.kind !== 'fused' && exprOf(op) === null) return false;
  if (![...inputs, ...outputs].every((id) => values[id]!.device === device)) return false;
  if (!isHead(given)) return true;
  const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
  const isPlain = !Object.values(attrs).some(isChanging);
  return (
    isPlain && device.scratchBytes(op, metas(inputs), metas(outputs), presentAttrs(attrs)) === 0
  );
}

/**
 * Returns a staged body of one row for a product or sum followed by pointwise ops of its shape that don't
 * determine its operands. Null for other parts, or for more operands and results than the device can bind.
 */
export function headedBody(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  operands: readonly ValueId[],
  values: ValueTable,
): StagedBody | null {
  const [head, ...further] = parts.filter(isHead);
  if (!head || further.length > 0 || !parts.every((part) => isHeadedPart(part, values))) {
    return null;
  }
  const { shape, device } = values[head.outputs[0]!]!;
  if (operands.length + results.length > device.mostFusedBuffers) return null;
  const isAlike = parts.every((part) => sameShape(loopShape(part, values), shape));
  if (!isAlike || !results.every((id) => isContiguousMeta(values[id]!))) return null;
  const changed = new Set(parts.flatMap((part) => [...part.outputs, ...targets(part)]));
  if (head.inputs.some((id, i) => operandUse(head.op, i) === 'data' && changed.has(id)))
    return null;
  const slots = new Map<ValueId, number>();
  const place = (id: ValueId): StagePlace => {
    const result = results.indexOf(id);
    if (result >= 0) return { kind: 'result', index: result };
    const operand = operands.indexOf(id);
    if (operand >= 0) return { kind: 'operand', index: operand };
    const slot = slots.get(id) ?? slots.size;
    slots.set(id, slot);
    return { kind: 'inner', slot };
  };
  const ordered = [head, ...parts.filter((part) => part !== head)];
  return {
    rows: 1,
    least: 1,
    stages: ordered.map((part): Stage => {
      const written = part.op.inPlace ? part.inputs.slice(0, 1) : part.outputs;
      return {
        op: part.op,
        part: parts.indexOf(part),
        cut: wholeCut,
        inputs: part.inputs.map(place),
        outputs: written.map(place),
        dtypes: [...part.inputs, ...written].map((id) => values[id]!.dtype),
      };
    }),
    slots: [...slots].map(() => 0),
    longestRow: 0,
    // A write to a part's own result, such as a sum, is not an effect of the whole op.
    writes: [...new Set(parts.flatMap(targets))]
      .map((id) => operands.indexOf(id))
      .filter((index) => index >= 0),
    overwrites: [],
  };
}

function loopShape(part: ProgramOp, values: ValueTable) {
  const { kernel } = part.op;
  return kernel.kind === 'fused' ? kernel.body.shape : shapeOf(part, values);
}

/** Returns the values that the part writes in place. */
function targets(part: ProgramOp): readonly ValueId[] {
  return writtenOperands(part).map((i) => part.inputs[i]!);
}
