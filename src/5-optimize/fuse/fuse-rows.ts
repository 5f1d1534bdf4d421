import type { Program, ProgramOp } from '../../../runtime/program/program.ts';
import type { PassContext, Staged } from '../facts/pass.ts';
import { fuseGroups } from './fuse-groups.ts';
import {
  findGroups,
  type Group,
  type GroupOptions,
  type GroupRules,
  onceForEachOp,
} from './groups.ts';
import { withoutShapeReads } from './read-shapes.ts';
import { RowRules } from './row-groups.ts';

/**
 * In: a program in the order of its plan, pointwise ops fused. Out: the same with groups of ops that fall into rows
 * as one op each: pointwise ops before and after reductions, softmax, norms, products and convolutions. A few rows
 * at a time go through the whole group while they are in cache, and what lies between takes no memory. Every op
 * computes a row as it does among all rows, so that bits are the same. On a GPU a group is a product or
 * sum, and pointwise ops on its elements.
 */
export function fuseRows(given: Staged, context: PassContext): Staged {
  const program = withoutShapeReads(given.program);
  const rules = onceForEachOp(new RowRules(program.values));
  const fused = fuseGroups({ ...given, program }, context, (options) =>
    rowGroups(program, options, rules),
  );
  return fused.program === program ? given : fused;
}

/** Single pointwise ops alone are not groups here: those that may share a loop have been fused before. */
export function rowGroups<Kind>(
  program: Program,
  options: GroupOptions,
  rules: GroupRules<Kind>,
): Group[] {
  const isMore = (op: ProgramOp) => op.parts !== undefined || op.op.rows !== undefined;
  return findGroups(program, rules, options).filter((group) =>
    group.some((index) => isMore(program.ops[index]!)),
  );
}
