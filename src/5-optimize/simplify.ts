import type { Expr } from '../../runtime/ops/expr/expr.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { isPure, type SameValues } from './same-value.ts';
import { hasPart, isSameExpr, simplifyExpr, substitute } from './simplify-expr.ts';
import { unlessLarger } from './unless-larger.ts';

/** For each dtype, the dtypes that can hold all its values. */
const wider: { readonly [D in DType]: readonly DType[] } = {
  bool: ['bool', 'uint8', 'int32', 'float16', 'bfloat16', 'float32', 'float64'],
  uint8: ['uint8', 'int32', 'float16', 'bfloat16', 'float32', 'float64'],
  int32: ['int32', 'float64'],
  float16: ['float16', 'float32', 'float64'],
  bfloat16: ['bfloat16', 'float32', 'float64'],
  float32: ['float32', 'float64'],
  float64: ['float64'],
};

/**
 * In: a program. Out: a program without ops that change no bit of their operand: `x · 1`, `x¹`, `x − 0`, double
 * negation, `relu` of `relu`, `abs` of `abs`, a cast to a dtype that holds every value and back. What an op
 * computes follows from the expression in its record.
 */
export function simplify(staged: Staged, context: PassContext): Steps<Staged> {
  const { program } = staged;
  return unlessLarger(staged, context, (same) => {
    for (const op of program.ops) {
      const equal = isPure(op) ? equalTo(program, same, op) : null;
      if (equal !== null) same.replace(op.outputs[0]!, equal);
    }
  });
}

/** Returns an operand, or an operand's operand, with the same bits as the result. */
function equalTo(program: Program, same: SameValues, op: ProgramOp): ValueId | null {
  const expr = exprOf(op);
  if (!expr || op.inputs.length !== 1) return null;
  const operand = same.now(op.inputs[0]!);
  const { values } = program;
  const dtype = values[op.outputs[0]!]!.dtype;
  if (isInput(expr) && values[operand]!.dtype === dtype) return operand;

  const inner = same.facts.definitionOf(operand);
  const innerExpr = inner && isPure(inner) && inner.inputs.length === 1 ? exprOf(inner) : null;
  if (!inner || !innerExpr) return null;
  const source = same.now(inner.inputs[0]!);
  const through = values[operand]!.dtype;
  if (!wider[values[source]!.dtype].includes(through)) return null;
  const both = simplifyExpr(substitute(expr, { kind: 'input', index: 0 }, innerExpr), {});
  if (isInput(both)) return values[source]!.dtype === dtype ? source : null;
  const isRepeated = isSameExpr(both, innerExpr);
  return isRepeated && through === dtype && values[source]!.dtype === dtype ? operand : null;
}

/** The expression of a pointwise op, including its numbers; null if a number changes between runs. */
function exprOf({ op, attrs }: ProgramOp): Expr | null {
  if (op.kernel.kind !== 'pointwise') return null;
  const expr = simplifyExpr(op.kernel.expr, attrs);
  return hasPart(expr, 'attr') ? null : expr;
}

function isInput(expr: Expr): boolean {
  return expr.kind === 'input' && expr.index === 0;
}
