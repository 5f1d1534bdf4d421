import { opTable } from '../ops/op-table.ts';
import type { Value } from './emit/emitter.ts';
import type { OpCall } from './emit/op-mapping.ts';
import { activationOps } from './ops/activations.ts';
import { alongDimOps } from './ops/along-dim.ts';
import { indexOps } from './ops/gathering.ts';
import { movementOps } from './ops/movement.ts';
import { orderOps } from './ops/order.ts';
import { poolOps } from './ops/pooling.ts';
import { matrixOps } from './ops/products.ts';
import { drawOps } from './ops/random.ts';

const table = opTable<Value, OpCall>({
  ...alongDimOps,
  ...indexOps,
  ...movementOps,
  ...orderOps,
  ...poolOps,
  ...matrixOps,
  ...drawOps,
});

export const { isMapped } = table;

/** Activations that ONNX has in float32 are one node. */
export function emitOp(call: OpCall): readonly Value[] {
  const { op, metas, outputs } = call;
  const isSingle = [...metas, outputs[0]!].every(({ dtype }) => dtype === 'float32');
  const activation = isSingle && Object.hasOwn(activationOps, op.name);
  if (activation) return [call.to.expand(activationOps[op.name]!(call), outputs[0]!.shape)];
  return table.emitOp(call);
}
