import type { Attrs } from '../../runtime/device/kernel-op.ts';
import { isContiguousMeta } from '../../runtime/device/tensor-meta.ts';
import type { Expr } from '../../runtime/ops/expr/expr.ts';
import { fullOp } from '../../runtime/ops/movement/create.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import { isPure } from './same-value.ts';

/**
 * In: a program. Out: a program in which arithmetic on tensors filled with one constant each is replaced by a constant
 * tensor. Folds only float32 and float64 operations that IEEE 754 rounds exactly: JavaScript then computes the same
 * bits as the kernel. A constant takes as many bytes as the result it replaces.
 */
export function foldConstants(staged: Staged): Staged {
  const { program } = staged;
  const facts = ProgramFacts.of(program);
  const constants = new Map<ValueId, number>();
  let folded = false;
  const ops = program.ops.map((op): ProgramOp => {
    const [output] = op.outputs;
    const meta = program.values[output!];
    if (!meta || !isPure(op) || facts.isWritten(output!) || meta.device.kind === 'gpu') return op;
    const { dtype, shape } = meta;
    if (dtype !== 'float32' && dtype !== 'float64') return op;
    if (op.op === fullOp) {
      const { value } = op.attrs;
      if (typeof value === 'number') constants.set(output!, rounded(value, dtype));
      return op;
    }
    const value = foldedValue(op, constants, dtype);
    const isAlike = op.inputs.every((id) => program.values[id]!.dtype === dtype);
    if (value === null || !isAlike || !isContiguousMeta(meta)) return op;
    constants.set(output!, value);
    folded = true;
    return { ...op, op: fullOp, inputs: [], attrs: { shape, dtype, value } };
  });
  return folded ? { ...staged, program: { ...program, ops } } : staged;
}

type Float = 'float32' | 'float64';

function rounded(value: number, dtype: Float): number {
  return dtype === 'float32' ? Math.fround(value) : value;
}

function foldedValue(
  { op, inputs, attrs }: ProgramOp,
  constants: ReadonlyMap<ValueId, number>,
  dtype: Float,
): number | null {
  if (op.kernel.kind !== 'pointwise' || inputs.length === 0) return null;
  const operands: number[] = [];
  for (const id of inputs) {
    const constant = constants.get(id);
    if (constant === undefined) return null;
    operands.push(constant);
  }
  return evaluate(op.kernel.expr, operands, attrs, dtype);
}

/**
 * Evaluates the expression; every node rounds, as in the kernel. Null for an operation whose rounding depends on the
 * platform.
 */
function evaluate(
  expr: Expr,
  operands: readonly number[],
  attrs: Attrs,
  dtype: Float,
): number | null {
  const of = (each: Expr) => evaluate(each, operands, attrs, dtype);
  switch (expr.kind) {
    case 'input':
      return operands[expr.index] ?? null;
    case 'const':
      return rounded(expr.value, dtype);
    case 'attr': {
      const value = attrs[expr.name];
      return typeof value === 'number' ? rounded(value, dtype) : null;
    }
    case 'unary': {
      const [x, fn] = [of(expr.x), unary[expr.fn]];
      return x === null || !fn ? null : rounded(fn(x), dtype);
    }
    case 'binary': {
      const [x, y, fn] = [of(expr.x), of(expr.y), binary[expr.fn]];
      return x === null || y === null || !fn ? null : rounded(fn(x, y), dtype);
    }
    default:
      return null;
  }
}

const unary: Readonly<Partial<Record<string, (x: number) => number>>> = {
  neg: (x) => -x,
  abs: Math.abs,
  sqrt: Math.sqrt,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
};

const binary: Readonly<Partial<Record<string, (x: number, y: number) => number>>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
};
