import { fusedOp } from '../../../runtime/program/fused/fused-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { PassContext, Staged } from '../pass.ts';
import { gradientSources } from './gradient-sources.ts';
import { fusableGroups, type Group } from './groups.ts';

/** So many programs are costed at most, twice, to find the groups that raise the peak. */
const mostTrials = 10;

/**
 * In: a program in the order of its plan. Out: the same with groups of pointwise ops as one op each, which reads
 * and writes every element once; values that only a group reads take no memory. Each op rounds as before, so that
 * bits are the same.
 *
 * A group reads its operands where its last op stood, and so may keep them longer. Peaks never rise: if the
 * program with all groups needs more bytes, those that raise it are left out, and groups of ops that are adjacent
 * in the order take their place.
 */
export function fusePointwise(given: Staged, context: PassContext): Staged {
  const { program } = given;
  const staying = new Set([...program.outputs, ...given.alsoRead]);
  const sources = gradientSources(program, context.gradients ?? []);
  const fixed = new Set([...(context.fixed ?? []), ...sources.joined]);
  const options = { fixed, sourcesOf: sources.of };
  const groups = fusableGroups(program, { ...options, adjacent: false });
  if (groups.length === 0) return given;
  const writer = new FusedWriter(program, staying);
  const limit = context.costOf(program);
  const isLean = (each: readonly Group[]) => context.costOf(writer.write(each)) <= limit;

  let trials = 0;
  const accepted: Group[] = [];
  const accept = (candidates: readonly Group[]): void => {
    if (candidates.length === 0 || trials++ >= mostTrials) return;
    if (isLean([...accepted, ...candidates])) accepted.push(...candidates);
    else if (candidates.length > 1) {
      const middle = candidates.length >> 1;
      accept(candidates.slice(0, middle));
      accept(candidates.slice(middle));
    }
  };
  accept(groups);
  if (accepted.length < groups.length) {
    trials = 0;
    const done = new Set(accepted.flat());
    const adjacent = fusableGroups(program, { ...options, adjacent: true });
    accept(adjacent.filter((group) => !group.some((index) => done.has(index))));
  }
  return accepted.length > 0 ? { ...given, program: writer.write(accepted) } : given;
}

/** With all groups as one op each, in the order that the program has: what planning may make of it. */
export function allFused(program: Program, staying: ReadonlySet<ValueId>): Program {
  const groups = fusableGroups(program, {
    fixed: new Set(),
    sourcesOf: () => 0n,
    adjacent: false,
  });
  return groups.length > 0 ? new FusedWriter(program, staying).write(groups) : program;
}

/** Writes programs with groups of ops as fused ones; a group is made once. */
class FusedWriter {
  readonly #program: Program;
  readonly #staying: ReadonlySet<ValueId>;
  /** Numbers of the ops that name a value. */
  readonly #readers = new Map<ValueId, number[]>();
  readonly #made = new Map<Group, ProgramOp>();

  constructor(program: Program, staying: ReadonlySet<ValueId>) {
    this.#program = program;
    this.#staying = staying;
    program.ops.forEach(({ inputs, before }, index) => {
      for (const id of inputs) this.#note(id, index);
      if (before !== undefined) this.#note(before, index);
    });
  }

  /** Each group as one op in the place of its last one. */
  write(groups: readonly Group[]): Program {
    const inGroup = new Set(groups.flat());
    const endingAt = new Map(groups.map((group) => [group[group.length - 1]!, group]));
    const ops = this.#program.ops.flatMap((op, index): readonly ProgramOp[] => {
      const group = endingAt.get(index);
      if (group) return [this.#fused(group)];
      return inGroup.has(index) ? [] : [op];
    });
    return { ...this.#program, ops };
  }

  #note(id: ValueId, reader: number): void {
    const known = this.#readers.get(id);
    if (known) known.push(reader);
    else this.#readers.set(id, [reader]);
  }

  #fused(group: Group): ProgramOp {
    let made = this.#made.get(group);
    if (!made) {
      const { ops, values } = this.#program;
      const parts = group.map((i) => ops[i]!);
      const own = new Set(group);
      const isReadOutside = (id: ValueId) =>
        this.#staying.has(id) || (this.#readers.get(id) ?? []).some((index) => !own.has(index));
      const results = parts.flatMap(({ outputs }) => outputs).filter(isReadOutside);
      made = fusedOp(parts, results, values);
      this.#made.set(group, made);
    }
    return made;
  }
}
