import type { Expr } from '../../../runtime/ops/expr/expr.ts';
import { emitPointwise } from '../lowering/expression.ts';
import { opTable } from '../lowering/op-table.ts';
import type { Value } from './emit/emitter.ts';
import { numberAttr, type OpCall, type OpMapping } from './emit/op-mapping.ts';
import { activationOps } from './ops/activations.ts';
import { gatheringOps } from './ops/gathering.ts';
import { movementOps } from './ops/movement.ts';
import { orderOps } from './ops/order.ts';
import { poolingOps } from './ops/pooling.ts';
import { productOps } from './ops/products.ts';
import { randomOps } from './ops/random.ts';
import { reductionOps } from './ops/reductions.ts';
import { resamplingOps } from './ops/resampling.ts';
import { rowOps } from './ops/rows.ts';
import { standardizeOps } from './ops/standardize.ts';

const named: Readonly<Record<string, OpMapping>> = {
  ...gatheringOps,
  ...movementOps,
  ...orderOps,
  ...poolingOps,
  ...productOps,
  ...randomOps,
  ...reductionOps,
  ...resamplingOps,
  ...rowOps,
  ...standardizeOps,
};

/** An activation that ONNX has in float32, or else the op's own expression, node by node. */
function pointwise(call: OpCall, expr: Expr): Value {
  const { op, to, inputs, metas } = call;
  const { dtype, shape } = call.outputs[0]!;
  const isSingle = metas.every((meta) => meta.dtype === 'float32') && dtype === 'float32';
  if (isSingle && Object.hasOwn(activationOps, op.name)) return activationOps[op.name]!(call);
  const value = emitPointwise(to, {
    expr,
    inputs,
    dtypes: metas.map((meta) => meta.dtype),
    dtype,
    shape,
    attr: (name, element) => numberAttr(call, name, element),
  });
  return to.expand(value, shape);
}

export const { isMapped, emitOp } = opTable('ONNX', named, pointwise);
