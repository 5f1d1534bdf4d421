import { fusedOp } from '../../../runtime/program/fused/fused-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { PassContext, Staged } from '../pass.ts';
import { gradientSources } from './gradient-sources.ts';
import { fusableGroups, type Group } from './groups.ts';

/** So many programs are costed at most to find the groups that raise the peak. */
const mostTrials = 24;

/**
 * In: a program in the order of its plan. Out: the same with groups of pointwise ops as one op each, which reads
 * and writes every element once; values that only a group reads take no memory. Each op rounds as before, so that
 * bits are the same.
 *
 * A group reads its operands where its last op stood, and so may keep them longer. Peaks never rise: if the
 * program with all groups needs more bytes, groups that are adjacent in the order are tried, then fewer of them.
 */
export function fusePointwise(given: Staged, context: PassContext): Staged {
  const { program } = given;
  const staying = new Set([...program.outputs, ...given.alsoRead]);
  const sources = gradientSources(program, context.gradients ?? []);
  const fixed = new Set([...(context.fixed ?? []), ...sources.joined]);
  const options = { fixed, sourcesOf: sources.of };
  const write = (groups: readonly Group[]) => withFused(program, groups, staying);

  const groups = fusableGroups(program, { ...options, adjacent: false });
  if (groups.length === 0) return given;
  const limit = context.costOf(program);
  const isLean = (each: Program) => context.costOf(each) <= limit;
  const whole = write(groups);
  if (isLean(whole)) return { ...given, program: whole };

  let trials = 0;
  const accepted: Group[] = [];
  const accept = (candidates: readonly Group[]): void => {
    if (candidates.length === 0 || trials++ >= mostTrials) return;
    if (isLean(write([...accepted, ...candidates]))) accepted.push(...candidates);
    else if (candidates.length > 1) {
      const middle = candidates.length >> 1;
      accept(candidates.slice(0, middle));
      accept(candidates.slice(middle));
    }
  };
  accept(fusableGroups(program, { ...options, adjacent: true }));
  return accepted.length > 0 ? { ...given, program: write(accepted) } : given;
}

/** With all groups as one op each, in the order that the program has: what planning may make of it. */
export function allFused(program: Program, staying: ReadonlySet<ValueId>): Program {
  const groups = fusableGroups(program, {
    fixed: new Set(),
    sourcesOf: () => 0n,
    adjacent: false,
  });
  return groups.length > 0 ? withFused(program, groups, staying) : program;
}

/** Each group as one op in the place of its last one. */
function withFused(
  program: Program,
  groups: readonly Group[],
  staying: ReadonlySet<ValueId>,
): Program {
  const { ops, values } = program;
  const groupOf = new Map<number, Group>();
  for (const group of groups) for (const index of group) groupOf.set(index, group);
  const readers = new Map<ValueId, Set<Group | null>>();
  ops.forEach(({ inputs, before }, index) => {
    const reader = groupOf.get(index) ?? null;
    for (const id of before === undefined ? inputs : [...inputs, before]) {
      const known = readers.get(id);
      if (known) known.add(reader);
      else readers.set(id, new Set([reader]));
    }
  });
  const isReadOutside = (id: ValueId, group: Group) =>
    staying.has(id) || [...(readers.get(id) ?? [])].some((reader) => reader !== group);

  const written = ops.flatMap((op, index): ProgramOp[] => {
    const group = groupOf.get(index);
    if (!group) return [op];
    if (group[group.length - 1] !== index) return [];
    const parts = group.map((i) => ops[i]!);
    const made = parts.flatMap(({ outputs }) => outputs);
    return [
      fusedOp(
        parts,
        made.filter((id) => isReadOutside(id, group)),
        values,
      ),
    ];
  });
  return { ...program, ops: written };
}
