/** Groups of a program's values that may share memory, or may be the same tensor. */

import { isSameTensor } from './alias-op.ts';
import type { Program, ProgramOp, ValueId } from './program.ts';

type Op = Pick<ProgramOp, 'op' | 'inputs' | 'outputs' | 'attrs' | 'regions' | 'call'>;

/** With `memory`, a view and its base are in one group; with `tensor`, they are two tensors. */
type Sameness = 'memory' | 'tensor';

/**
 * Partitions values by possible identity: a branch or loop's result is grouped with the operands and other results that
 * it may be. Values of different groups are never the same.
 */
export class ValueGroups {
  readonly #above = new Map<ValueId, ValueId>();

  /** `joined`: groups known in advance. */
  constructor(
    ops: readonly Op[],
    sameness: Sameness,
    joined: readonly (readonly ValueId[])[] = [],
  ) {
    for (const [first, ...others] of joined) for (const other of others) this.#join(first!, other);
    for (const op of ops) {
      if (isSameTensor(op) || (sameness === 'memory' && op.op.kernel.kind === 'view')) {
        this.#join(op.outputs[0]!, op.inputs[0]!);
      }
      if (op.op.kernel.kind !== 'control') continue;
      for (const [first, ...others] of sharedBy(op, sameness)) {
        for (const other of others) this.#join(first!, other);
      }
    }
  }

  /** Returns the representative of the value's group. */
  of(id: ValueId): ValueId {
    let top = id;
    for (let next = this.#above.get(top); next !== undefined; next = this.#above.get(top)) {
      top = next;
    }
    return top;
  }

  #join(a: ValueId, b: ValueId): void {
    const [from, to] = [this.of(a), this.of(b)];
    if (from !== to) this.#above.set(from, to);
  }
}

const nothing: readonly (readonly ValueId[])[] = [];

/** Returns the groups of operands and results that the regions of a control op may make one value. */
export function sharedBy(
  { op, inputs, outputs, regions = [], call }: Op,
  sameness: Sameness,
): readonly (readonly ValueId[])[] {
  if (op.kernel.kind !== 'control') return nothing;
  const { form } = op.kernel;
  // A call may return an operand, unwrapped or as a view.
  if (form === 'call') {
    return sameness === 'memory' && !call?.apart ? outputs.map((id) => [id, ...inputs]) : nothing;
  }
  // Reading an element returns a value that was stored before.
  if (form === 'list') return sameness === 'tensor' ? [[outputs[0]!, ...inputs]] : nothing;
  if (form !== 'cond' && form !== 'while') return nothing;
  const isLoop = form === 'while';
  const operands = isLoop ? inputs : inputs.slice(1);
  const results = outputs.slice(0, -1);
  const carried = isLoop ? results.map((id, i) => [id, operands[i]!]) : [];
  const inside = (isLoop ? regions.slice(1) : regions).flatMap(({ program }) =>
    groupsOf(program, sameness).map(({ ofInputs, ofOutputs }) => [
      ...ofOutputs.map((i) => results[i]!),
      ...ofInputs.map((i) => operands[i]!),
    ]),
  );
  return [...carried, ...inside];
}

/** Inputs and outputs of a program that may be one value, by index. */
interface RegionGroup {
  readonly ofInputs: readonly number[];
  readonly ofOutputs: readonly number[];
}

const known = {
  memory: new WeakMap<Program, readonly RegionGroup[]>(),
  tensor: new WeakMap<Program, readonly RegionGroup[]>(),
} as const;

/** Returns the groups that contain an output and at least one other value. */
function groupsOf(program: Program, sameness: Sameness): readonly RegionGroup[] {
  const existing = known[sameness].get(program);
  if (existing) return existing;
  const groups = new ValueGroups(program.ops, sameness);
  const numbersIn = (ids: readonly ValueId[], group: ValueId) =>
    ids.flatMap((id, i) => (groups.of(id) === group ? [i] : []));
  const found = [...new Set(program.outputs.map((id) => groups.of(id)))].map((group) => ({
    ofInputs: numbersIn(program.inputs, group),
    ofOutputs: numbersIn(program.outputs, group),
  }));
  const shared = found.filter(({ ofInputs, ofOutputs }) => ofInputs.length + ofOutputs.length > 1);
  known[sameness].set(program, shared);
  return shared;
}
