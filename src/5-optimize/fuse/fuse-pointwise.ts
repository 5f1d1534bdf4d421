import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { PassContext, Staged } from '../facts/pass.ts';
import { fuseGroups, writeGroups } from './fuse-groups.ts';
import { findGroups, onceForEachOp } from './groups.ts';
import { PointwiseRules } from './pointwise-groups.ts';

/**
 * In: a program in the order of its plan. Out: the same program with groups of pointwise ops fused into one op
 * each, which reads and writes every element once; values read only inside a group take no memory. Each op rounds
 * as before, so the bits are the same.
 */
export function fusePointwise(staged: Staged, context: PassContext): Staged {
  const { program } = staged;
  const rules = onceForEachOp(new PointwiseRules(program.values));
  return fuseGroups(staged, context, (options) => findGroups(program, rules, options));
}

/** Returns the program with all groups fused, in its given order: an estimate of what is planned. */
export function allFused(program: Program, staying: ReadonlySet<ValueId>): Program {
  const groups = findGroups(program, new PointwiseRules(program.values), {
    fixed: new Set(),
    sourcesOf: () => 0n,
    adjacent: false,
  });
  return writeGroups(program, staying, groups);
}
