import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import { emitPointwise } from '../lowering/expression.ts';
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

/** Whether the op has a form in StableHLO here: every pointwise one has, of the others those of `ops/`. */
export const isMapped = (op: OpRecord): boolean =>
  op.kernel.kind === 'pointwise' || Object.hasOwn(named, op.name);

/** The op in StableHLO. Throws ArgumentError, by its name, for one that has no form there. */
export function emitOp(call: OpCall): readonly Value[] {
  const { op, to, inputs, outputs } = call;
  const mapping = Object.hasOwn(named, op.name) ? named[op.name] : undefined;
  if (mapping) {
    const result = mapping(call);
    return Array.isArray(result) ? (result as readonly Value[]) : [result as Value];
  }
  if (op.kernel.kind === 'pointwise') {
    const { dtype, shape } = outputs[0]!;
    const dtypes = call.metas.map((meta) => meta.dtype);
    return [
      emitPointwise(to, {
        expr: op.kernel.expr,
        inputs,
        dtypes,
        dtype,
        shape,
        attr: (name, element) => numberAttr(call, name, element, shape),
      }),
    ];
  }
  throw new ArgumentError({
    what: `export: ${op.name} has no form in StableHLO`,
    given: `an op ${op.name} in the program`,
    expected: 'the ops that docs/export.md lists',
    remedy: 'compute it with other ops, or outside of the function that is exported',
  });
}
