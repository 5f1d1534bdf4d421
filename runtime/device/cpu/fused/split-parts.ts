import type { Expr } from '../../../ops/expr/expr.ts';
import { nodesOf, operandsOf, withOperands } from '../../../ops/expr/expr-nodes.ts';
import { inPrecision, isDouble } from '../../../ops/expr/expr-precision.ts';
import { arithmetics } from '../../../ops/expr/expr-type.ts';
import type { FusedBody, FusedOperand } from '../../../ops/expr/fused-body.ts';
import type { DType } from '../../../spec/dtype.ts';

/** A part as the kernel computes it: its expression in one precision, and the part whose numbers it reads. */
export interface KernelPart {
  readonly expr: Expr;
  readonly operands: readonly FusedOperand[];
  readonly dtype: DType;
  readonly attrsOf: number;
}

export interface KernelBody {
  readonly parts: readonly KernelPart[];
  readonly results: readonly number[];
  readonly writes: FusedBody['writes'];
}

const heavyFunctions: ReadonlySet<string> = new Set([
  ...['exp', 'exp2', 'log', 'log2', 'tanh', 'sin', 'cos', 'pow'],
]);

/** Whether a node on its own is a long chain of instructions. */
export function isHeavy(node: Expr): boolean {
  return node.kind === 'double' || ('fn' in node && heavyFunctions.has(node.fn));
}

/**
 * Splits every heavy float32 function into a separate part, so that it may have its own loop. Doesn't change a bit,
 * because such a node is rounded to float32 anyway.
 */
export function splitParts(body: FusedBody, dtypes: readonly DType[]): KernelBody {
  const parts: KernelPart[] = [];
  /** The last part created for each part of the op. */
  const made: number[] = [];
  const now = (operand: FusedOperand): FusedOperand =>
    'part' in operand ? { part: made[operand.part]! } : operand;
  const dtypeOf = (operand: FusedOperand): DType =>
    'part' in operand ? body.parts[operand.part]!.dtype : dtypes[operand.operand]!;

  body.parts.forEach(({ expr: generic, operands: own, dtype }, attrsOf) => {
    const kinds = own.map(dtypeOf);
    const expr = inPrecision(generic, isDouble([...kinds, dtype]) ? 'double' : 'single');
    const operands = own.map(now);
    const known = arithmetics(expr, kinds);
    const written = new Map<Expr, Expr>();
    for (const node of nodesOf(expr)) {
      const read = operandsOf(node);
      const replaced = read.map((each) => written.get(each)!);
      const isSame = replaced.every((each, i) => each === read[i]);
      const rewritten = isSame ? node : withOperands(node, replaced);
      if (node === expr || !isHeavy(node) || known.get(node) !== 'f32') {
        written.set(node, rewritten);
        continue;
      }
      parts.push({ expr: rewritten, operands: [...operands], dtype: 'float32', attrsOf });
      written.set(node, { kind: 'input', index: operands.push({ part: parts.length - 1 }) - 1 });
    }
    parts.push({ expr: written.get(expr)!, operands, dtype, attrsOf });
    made.push(parts.length - 1);
  });
  return {
    parts,
    results: body.results.map((part) => made[part]!),
    writes: body.writes.map(({ operand, part }) => ({ operand, part: made[part]! })),
  };
}
