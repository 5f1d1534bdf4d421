import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { Expr } from '../../../runtime/ops/expr/expr.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import { emitPointwise } from '../lowering/expression.ts';
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

/** Whether the op has a form in ONNX here: every pointwise one has, of the others those of `ops/`. */
export const isMapped = (op: OpRecord): boolean =>
  op.kernel.kind === 'pointwise' || Object.hasOwn(named, op.name);

/** The op in ONNX. Throws ArgumentError, by its name, for one that has no form there. */
export function emitOp(call: OpCall): readonly Value[] {
  const { op } = call;
  const mapping = Object.hasOwn(named, op.name) ? named[op.name] : undefined;
  if (mapping) {
    const result = mapping(call);
    return Array.isArray(result) ? (result as readonly Value[]) : [result as Value];
  }
  if (op.kernel.kind === 'pointwise') return [pointwise(call, op.kernel.expr)];
  throw new ArgumentError({
    what: `export: ${op.name} has no form in ONNX`,
    given: `an op ${op.name} in the program`,
    expected: 'the ops that docs/export.md lists',
    remedy: 'compute it with other ops, or outside of the function that is exported',
  });
}

/** An activation that ONNX has in float32, or the op's own expression node by node. */
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
