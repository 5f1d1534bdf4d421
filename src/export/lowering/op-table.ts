import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { Expr } from '../../../runtime/ops/expr/expr.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';

/** The ops that an engine can express. */
export interface OpTable<C, V> {
  /** Whether the engine can express the op: every pointwise op, and others that have a mapping. */
  isMapped(op: OpRecord): boolean;
  /** Emits an op. Throws ArgumentError that names an unsupported op. */
  emitOp(call: C): readonly V[];
}

/** `form`: the name of the target format. `pointwise` emits an op's expression node by node. */
export function opTable<C extends { readonly op: OpRecord }, V>(
  form: string,
  mappings: Readonly<Record<string, (call: C) => V | readonly V[]>>,
  pointwise: (call: C, expr: Expr) => V,
): OpTable<C, V> {
  return {
    isMapped: ({ name, kernel }) => kernel.kind === 'pointwise' || Object.hasOwn(mappings, name),
    emitOp: (call) => {
      const { name, kernel } = call.op;
      if (Object.hasOwn(mappings, name)) {
        const result = mappings[name]!(call);
        return Array.isArray(result) ? (result as readonly V[]) : [result as V];
      }
      if (kernel.kind === 'pointwise') return [pointwise(call, kernel.expr)];
      throw new ArgumentError({
        what: `export: ${name} has no form in ${form}`,
        given: `an op ${name} in the program`,
        expected: 'the ops that docs/export.md lists',
        remedy: 'compute it with other ops, or outside of the function that is exported',
      });
    },
  };
}
