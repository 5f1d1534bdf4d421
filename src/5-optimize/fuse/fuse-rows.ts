import { opNamed } from '../../../runtime/ops/op-table.ts';
import { isByChannel } from '../../../runtime/ops/reduce/reduce.ts';
import type { Program, ProgramOp } from '../../../runtime/program/program.ts';
import { mayBeSlower } from '../../programs/memory-options.ts';
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
 * In: a program in the order of its plan, with pointwise ops fused. Out: the same program with groups of ops that can
 * run row by row fused into one op each: pointwise ops before and after reductions, softmax, norms, products and
 * convolutions. The group processes a few rows at a time, while they are in cache, and its intermediate values take no
 * memory. Every op computes a row exactly as it would among all rows, so the bits are the same. On a GPU, a group is a
 * product or sum with pointwise ops on its elements.
 */
export function fuseRows(staged: Staged, context: PassContext): Staged {
  const sums = mayBeSlower(context.memory);
  const shown = withoutShapeReads(staged.program);
  const program = sums ? withSumsByChannel(shown) : shown;
  const rules = onceForEachOp(new RowRules(program.values, sums));
  const fused = fuseGroups({ ...staged, program }, context, (options) =>
    rowGroups(program, options, rules),
  );
  return fused.program === program ? staged : fused;
}

/**
 * Rewrites sums to the shape of a per-channel bias as sums over dimensions, which can accumulate over several blocks of
 * rows.
 */
function withSumsByChannel(program: Program): Program {
  const { values } = program;
  const ops = program.ops.map((op): ProgramOp => {
    const [x, like] = op.inputs;
    if (op.op.name !== 'sumTo' || values[x!]!.dtype !== 'float32') return op;
    const [{ shape }, to] = [values[x!]!, values[like!]!];
    const dims = shape.flatMap((size, dim) => (size !== 1 && to.shape[dim] === 1 ? [dim] : []));
    if (shape.length !== to.shape.length || !isByChannel(shape, dims)) return op;
    return { ...op, op: opNamed('sum'), inputs: [x!], attrs: { dims, keepDim: true } };
  });
  return { ...program, ops };
}

/** A lone pointwise op starts no group here: `fusePointwise` has already fused the ops that can share a loop. */
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
