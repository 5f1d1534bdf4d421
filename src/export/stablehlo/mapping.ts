import type { Expr } from '../../../runtime/ops/expr/expr.ts';
import { emitPointwise } from '../lowering/expression.ts';
import { opTable } from '../lowering/op-table.ts';
import type { Value } from './emit/emitter.ts';
import { numberAttr, type OpCall, type OpMapping } from './emit/op-mapping.ts';
import { gatheringOps } from './ops/gathering.ts';
import { movementOps } from './ops/movement.ts';
import { poolingOps } from './ops/pooling.ts';
import { productOps } from './ops/products.ts';
import { randomOps } from './ops/random.ts';
import { reductionOps } from './ops/reductions.ts';
import { resamplingOps } from './ops/resampling.ts';
import { rowOps } from './ops/rows.ts';

const named: Readonly<Record<string, OpMapping>> = {
  ...gatheringOps,
  ...movementOps,
  ...poolingOps,
  ...productOps,
  ...randomOps,
  ...reductionOps,
  ...resamplingOps,
  ...rowOps,
};

function pointwise(call: OpCall, expr: Expr): Value {
  const { to, inputs, metas } = call;
  const { dtype, shape } = call.outputs[0]!;
  return emitPointwise(to, {
    expr,
    inputs,
    dtypes: metas.map((meta) => meta.dtype),
    dtype,
    shape,
    attr: (name, element) => numberAttr(call, name, element, shape),
  });
}

export const { isMapped, emitOp } = opTable('StableHLO', named, pointwise);
