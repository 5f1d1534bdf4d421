import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import { numberAttr } from '../target/attributes.ts';
import type { TargetCall } from '../target/op-mapping.ts';
import type { TargetValue, TensorTarget } from '../target/target.ts';
import { emitPointwise } from './expression.ts';
import { movementOps } from './movement.ts';
import { reductionOps } from './reductions.ts';
import { resamplingOps } from './resampling.ts';
import { rowOps } from './softmax-and-losses.ts';
import { standardizeOps } from './standardize.ts';

/** The ops that an engine can express. */
interface OpTable<C, V> {
  /** Whether the engine can express the op: every pointwise op, and others that have a mapping. */
  isMapped(op: OpRecord): boolean;
  /** Emits an op. Throws ArgumentError that names an unsupported op. */
  emitOp(call: C): readonly V[];
}

/** Forms of ops that all engines share; an engine's own form takes precedence. */
const commonOps = {
  ...movementOps,
  ...reductionOps,
  ...resamplingOps,
  ...rowOps,
  ...standardizeOps,
};

/** Emits an op's expression node by node. */
function pointwise<V extends TargetValue>(call: TargetCall<V>): V {
  const { to, op, inputs, metas } = call;
  const { dtype, shape } = call.outputs[0]!;
  if (op.kernel.kind !== 'pointwise') {
    throw new ArgumentError({
      what: `export: ${op.name} has no form in ${to.form}`,
      given: `an op ${op.name} in the program`,
      expected: 'the ops that docs/export.md lists',
      remedy: 'compute it with other ops, or outside of the function that is exported',
    });
  }
  const value = emitPointwise(to, {
    expr: op.kernel.expr,
    inputs,
    dtypes: metas.map((meta) => meta.dtype),
    dtype,
    shape,
    attr: (name, element) => numberAttr(call, name, element, shape),
  });
  return to.expand(value, shape);
}

/** `own`: forms of ops specific to this engine. */
export function opTable<V extends TargetValue, C extends TargetCall<V, TensorTarget<V>>>(
  own: Readonly<Record<string, (call: C) => V | readonly V[]>>,
): OpTable<C, V> {
  const mappings: typeof own = { ...commonOps, ...own };
  return {
    isMapped: ({ name, kernel }) => kernel.kind === 'pointwise' || Object.hasOwn(mappings, name),
    emitOp: (call) => {
      const { name } = call.op;
      const result = Object.hasOwn(mappings, name) ? mappings[name]!(call) : pointwise(call);
      return Array.isArray(result) ? (result as readonly V[]) : [result as V];
    },
  };
}
