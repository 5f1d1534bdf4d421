import type { ControlForm } from '../../../runtime/ops/define-op.ts';
import type { PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { handedOver } from '../../../runtime/run-program/control/handed-over.ts';
import { bytesOf } from '../storages.ts';
import type { ControlSite } from './control-site.ts';
import { followCondBackward, followWhileBackward } from './follow-backward.ts';
import { followCall, followCallBackward } from './follow-calls.ts';
import { followList } from './follow-lists.ts';
import { followLook } from './follow-missing.ts';
import { takePiece } from './follow-region.ts';
import type { FollowedScope } from './run-memory.ts';

/** What `runtime/run-program/control` does with memory, form by form. */
const forms: { readonly [F in ControlForm]: (site: ControlSite) => void } = {
  cond: followCond,
  while: followWhile,
  condBackward: followCondBackward,
  whileBackward: followWhileBackward,
  assert: () => {},
  print: () => {},
  hostNumber: makeResult,
  draw: makeResult,
  list: followList,
  call: followCall,
  callBackward: followCallBackward,
  dimension: makeResult,
  missing: followLook,
};

function makeResult({ follower, step, values, scope }: ControlSite): void {
  const [result] = step.op.outputs;
  scope.set(result!, follower.memory.make(bytesOf(values, result!)));
}

export function followControl(form: ControlForm, site: ControlSite): void {
  forms[form](site);
}

function entersRegion({ forward }: PlannedSubgraph, id: ValueId): boolean {
  return !forward.unusedInputs.includes(id);
}

/** An operand's piece enters a region; `moves`: with the share that the scope around had. */
function enter(
  { follower: { memory }, scope }: ControlSite,
  region: PlannedSubgraph,
  inner: FollowedScope,
  index: number,
  id: ValueId,
  moves: boolean,
): void {
  const input = region.forward.inputs[index]!;
  if (!entersRegion(region, input)) {
    if (moves) memory.dropFrom(scope, id);
    return;
  }
  inner.set(input, moves ? scope.get(id)! : memory.share(scope.get(id)!));
  if (moves) scope.delete(id);
}

function followCond(site: ControlSite): void {
  const { follower, step, scope } = site;
  const { memory } = follower;
  const { op, regions } = step;
  const region = regions![follower.decider.branch(op)]!;
  const moves = handedOver(step);
  const inner: FollowedScope = new Map();
  op.inputs.slice(1).forEach((id, i) => {
    enter(site, region, inner, i, id, moves[i + 1]!);
  });
  follower.run(region.forward, region.values, inner);
  const tape = op.outputs.at(-1)!;
  op.outputs.slice(0, -1).forEach((id, i) => {
    scope.set(id, memory.share(inner.get(region.forward.outputs[i]!)!));
  });
  memory.dropAtEnd(inner, region.forward);
  const record = memory.makeTape();
  scope.set(tape, record);
  if (region.backward) record.tape.push({ region, scope: inner });
  else memory.clear(inner);
}

function followWhile(site: ControlSite): void {
  const { follower, step, scope } = site;
  const { memory } = follower;
  const { op, regions } = step;
  const [test, body] = regions as readonly [PlannedSubgraph, PlannedSubgraph];
  const results = op.outputs.slice(0, -1);
  const captured = op.inputs.slice(results.length);
  const moves = handedOver(step);
  const carried = results.map((_, i) => takePiece(site, op.inputs[i]!, moves[i]!)!);
  const record = memory.makeTape();
  scope.set(op.outputs.at(-1)!, record);
  const capturedInto = (region: PlannedSubgraph, inner: FollowedScope) => {
    captured.forEach((id, i) => {
      enter(site, region, inner, results.length + i, id, false);
    });
  };
  const ask = () => {
    const inner: FollowedScope = new Map();
    carried.forEach((piece, i) => {
      const input = test.forward.inputs[i]!;
      if (entersRegion(test, input)) inner.set(input, memory.share(piece));
    });
    capturedInto(test, inner);
    follower.run(test.forward, test.values, inner);
    memory.clear(inner);
  };
  const turns = follower.decider.turns(op, body.backward !== null);
  ask();
  for (let turn = 0; turn < turns; turn++) {
    const inner: FollowedScope = new Map();
    carried.forEach((piece, i) => {
      const input = body.forward.inputs[i]!;
      if (entersRegion(body, input)) inner.set(input, piece);
      else memory.drop(piece);
    });
    capturedInto(body, inner);
    follower.run(body.forward, body.values, inner);
    body.forward.outputs.forEach((id, i) => {
      carried[i] = memory.share(inner.get(id)!);
    });
    memory.dropAtEnd(inner, body.forward);
    if (body.backward) record.tape.push({ region: body, scope: inner });
    else memory.clear(inner);
    ask();
  }
  results.forEach((id, i) => {
    scope.set(id, carried[i]!);
  });
}
