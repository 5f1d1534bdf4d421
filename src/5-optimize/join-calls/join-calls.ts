/** Merges calls with data-dependent shapes into as few ops as possible: each op is planned as one program. */

import { callBackwardOp, callOp, hasEffect } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { recordedAs } from '../../regions/append-call.ts';
import { joinedCall } from '../../regions/joined-call.ts';
import { normalize } from '../cleanup/normalize.ts';
import { type CallGroup, callGroups } from './call-groups.ts';
import { joinedBackward } from './join-backward.ts';
import { type WiredGroup, wired } from './joined-ops.ts';

/**
 * In: a traced program. Out: the same program with consecutive calls merged into one. Results and gradients are bitwise
 * identical. A member's value that no other op reads is not a result, and is freed inside the call. `asked`: values
 * whose gradient code outside the program may request.
 */
export function joinCalls(
  program: Program,
  asked: ReadonlySet<ValueId> = new Set<ValueId>(),
): Program {
  let joined = program;
  for (const group of callGroups(program, asked)) {
    const members = new Set(group.map((index) => program.ops[index]!));
    joined = withJoined(joined, joinedNumbers(joined, members)) ?? joined;
  }
  return joined;
}

/** Returns the positions of the members after other groups were merged. */
function joinedNumbers({ ops }: Program, members: ReadonlySet<ProgramOp>): CallGroup {
  return ops.flatMap((op, index) => (members.has(op) ? [index] : []));
}

/** Merges one group; null if that isn't possible. */
function withJoined(program: Program, numbers: CallGroup): Program | null {
  const group = wired(program, numbers);
  const backward = joinedBackward(program, group);
  if (!backward) return null;
  const { ops, members, operands, madeBy } = group;
  const results = resultsOf(program, group, backward.seeds);
  const call = joinedCall(
    members,
    operands.length,
    results.map((id) => madeBy.get(id)!),
    normalize,
  );
  if (!call || results.length === 0) return null;

  const [first, last] = [ops[0]!, ops[ops.length - 1]!];
  const tape = last.outputs.at(-1)!;
  const isDifferentiated = backward.replaced.size > 0;
  const inside = isDifferentiated
    ? recordedAs(
        call,
        members,
        ops.map((op) => op.call),
      )
    : call;
  const forward: ProgramOp = {
    ...first,
    op: callOp,
    inputs: operands,
    outputs: [...results, tape],
    attrs: { of: call.name },
    call: inside,
  };
  const replaced = new Map<ProgramOp, ProgramOp | null>(ops.map((op) => [op, null]));
  replaced.set(last, forward);
  if (isDifferentiated) {
    const backwardOps = [...backward.replaced].filter(({ op }) => op === callBackwardOp);
    const latest = backwardOps.reduce((a, b) =>
      program.ops.indexOf(a) > program.ops.indexOf(b) ? a : b,
    );
    const [of, to] = [[...backward.seeds], [...backward.leaving]];
    for (const op of backward.replaced) replaced.set(op, null);
    replaced.set(latest, {
      ...latest,
      inputs: [tape, ...of.map(([, gradient]) => gradient)],
      outputs: to.map(([, gradient]) => gradient),
      attrs: { of: of.map(([id]) => results.indexOf(id)), to: to.map(([i]) => i), carried: 0 },
      call: inside,
    });
  }
  const settled = inOrder(program, replaced);
  return settled && { ...program, ops: settled };
}

/** Returns values that other ops read, or compute a gradient for. */
function resultsOf(
  { ops, outputs }: Program,
  { ops: members, madeBy }: WiredGroup,
  seeds: ReadonlyMap<ValueId, ValueId>,
): ValueId[] {
  const read = new Set<ValueId>([...outputs, ...seeds.keys()]);
  for (const op of ops) {
    if (members.includes(op)) continue;
    for (const id of op.inputs) read.add(id);
    if (op.before !== undefined) read.add(op.before);
  }
  return [...madeBy.keys()].filter((id) => read.has(id));
}

/**
 * Reorders the ops so that each follows the merged op it depends on. Null if that would delay an observable op or move
 * an op past a write.
 */
function inOrder(
  { inputs, ops }: Program,
  replaced: ReadonlyMap<ProgramOp, ProgramOp | null>,
): readonly ProgramOp[] | null {
  const available = new Set<ValueId>(inputs);
  const done: ProgramOp[] = [];
  let waiting: ProgramOp[] = [];
  const isReady = (op: ProgramOp) =>
    op.inputs.every((id) => available.has(id)) &&
    (op.before === undefined || available.has(op.before));
  const emit = (op: ProgramOp) => {
    done.push(op);
    for (const id of op.outputs) available.add(id);
  };
  for (const original of ops) {
    const op = replaced.has(original) ? replaced.get(original)! : original;
    if (!op) continue;
    if (hasEffect(op) && op.op !== callOp && waiting.length > 0) return null;
    if (!isReady(op)) {
      waiting.push(op);
      continue;
    }
    emit(op);
    for (let ready = waiting.find(isReady); ready; ready = waiting.find(isReady)) {
      emit(ready);
      waiting = waiting.filter((each) => each !== ready);
    }
  }
  return waiting.length === 0 ? done : null;
}
