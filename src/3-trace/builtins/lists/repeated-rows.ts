/** Iterations over elements, and how to repeat them for other elements, in this call or another. */

import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { atRow } from '../../inputs/row-index.ts';
import { isAlike, playCalls, type TapeCall, TapeMismatch, tensorsIn } from '../../state/tape.ts';
import type { Target } from './row-elements.ts';

/** The calls of one iteration. Pre-existing tensors are not `carried`: they don't change. */
export interface Iteration {
  /** The tensors of the element. */
  readonly row: readonly Tensor[];
  /** The tensor in each location before the iteration; null if no iteration computed it. */
  readonly carried: readonly (Tensor | null)[];
  readonly calls: readonly TapeCall[];
  /** The tensor in each location after the iteration. */
  readonly left: readonly (Tensor | null)[];
  /** The tensors that the iteration appends to each array. */
  readonly pushed: readonly (readonly Tensor[])[];
}

/** The results of several iterations. */
export interface IterationResults {
  readonly carried: readonly (Tensor | null)[];
  /** All tensors appended to each array. */
  readonly pushed: readonly (readonly Tensor[])[];
}

/** Returns the tensors from before the loop that the iteration uses. */
export function freeIn({ row, carried, calls, pushed }: Iteration): Tensor[] {
  const available = new Set([
    ...row,
    ...carried,
    ...calls.flatMap(({ result }) => tensorsIn(result)),
  ]);
  const used = new Set([...calls.flatMap(({ operands }) => tensorsIn(operands)), ...pushed.flat()]);
  return [...used].filter((tensor) => !available.has(tensor));
}

/** Repeats iterations for the rows from `start` on; rows after the last traced iteration repeat that one. */
export function repeatFor(
  rows: readonly (readonly Tensor[])[],
  iterations: readonly Iteration[],
  start: number,
  before: IterationResults,
  target: Target,
): IterationResults {
  const pushed = before.pushed.map((list) => [...list]);
  let { carried } = before;
  for (let i = start; i < rows.length; i++) {
    const iteration = iterations[Math.min(i, iterations.length - 1)]!;
    const left = repeat(iteration, rows[i]!, carried, i, target);
    carried = left.carried;
    for (const [j, tensors] of left.pushed.entries()) pushed[j]!.push(...tensors);
  }
  return { carried, pushed };
}

function repeat(
  { row, carried, calls, left, pushed }: Iteration,
  nextRow: readonly Tensor[],
  nextCarried: readonly (Tensor | null)[],
  index: number,
  { resolver, builder, replay }: Target,
) {
  const found = new Map<Tensor, Tensor>();
  const used = new Set<Tensor>();
  const put = (recorded: Tensor, next: Tensor | null | undefined) => {
    const known = found.get(recorded);
    // Equal tensors must stay equal, and different tensors different.
    const isOther = known ? known !== next : !next || used.has(next);
    if (isOther || !next || !isAlike(recorded, next) || recorded.device !== next.device) {
      throw new TapeMismatch();
    }
    found.set(recorded, next);
    used.add(next);
  };
  for (const [i, tensor] of row.entries()) put(tensor, nextRow[i]);
  for (const [i, tensor] of carried.entries()) if (tensor) put(tensor, nextCarried[i]);
  const tensor = (recorded: Tensor) => found.get(recorded) ?? resolver.tensor(recorded);
  const here = { kind: 'constant', value: index } as const;
  const inside = {
    ...resolver,
    tensor,
    number: (expr: NumberExpr) => resolver.number(atRow(expr, here)),
  };
  for (const { operands } of calls) for (const free of tensorsIn(operands)) used.add(tensor(free));
  playCalls(calls, { resolver: inside, found, used, builder }, replay);
  return {
    carried: left.map((each) => each && tensor(each)),
    pushed: pushed.map((list) => list.map(tensor)),
  };
}
