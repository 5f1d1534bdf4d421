import type { ControlForm } from '../../../runtime/ops/define-op.ts';
import type { PlannedSubgraph, Step } from '../../../runtime/program/plan.ts';
import type { ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { handedOver } from '../../../runtime/run-program/control/handed-over.ts';
import { bytesOf } from '../storages.ts';
import type { Follower } from './follow.ts';
import { followCall, followCallBackward } from './follow-calls.ts';
import { followList } from './follow-lists.ts';
import { followRegionBackward, GradientSums, takePiece } from './follow-region.ts';
import type { FollowedScope, Piece } from './run-memory.ts';

/** One control op of a run that is followed. */
export interface ControlSite {
  readonly follower: Follower;
  readonly step: Step;
  readonly values: ValueTable;
  readonly scope: FollowedScope;
}

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
  const carried = results.map((_, i) => takePiece(site, op.inputs[i]!, moves[i]!));
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

function followCondBackward(site: ControlSite): void {
  const { step, scope } = site;
  const { op, frees } = step;
  const [tape, ...gradients] = op.inputs;
  const [of, to] = [op.attrs.of as readonly number[], op.attrs.to as readonly number[]];
  const retains = !frees.includes(tape!);
  const moves = handedOver(step).slice(1);
  const sums = new GradientSums(site);
  const { tape: record } = scope.get(tape!)!;
  const run = retains ? record!.at(-1) : record!.pop();
  if (run?.region.backward) {
    followRegionBackward(
      site,
      run,
      retains,
      (result) => {
        const place = of.indexOf(result);
        return place < 0 ? null : takePiece(site, gradients[place]!, moves[place]!);
      },
      (operand, gradient) => {
        const place = to.indexOf(operand + 1);
        if (place >= 0) sums.add(place, gradient);
      },
    );
  }
  to.forEach((_, place) => {
    sums.handOut(place);
  });
}

function followWhileBackward(site: ControlSite): void {
  const { step, scope, follower } = site;
  const { memory } = follower;
  const { op, frees } = step;
  const [tape, ...gradients] = op.inputs;
  const [of, to] = [op.attrs.of as readonly number[], op.attrs.to as readonly number[]];
  const carried = op.attrs.carried as number;
  const retains = !frees.includes(tape!);
  const moves = handedOver(step).slice(1);
  const sums = new GradientSums(site);
  const record = scope.get(tape!)!.tape!;
  let after: (Piece | null)[] = Array.from({ length: carried }, (_, i) => {
    const place = of.indexOf(i);
    return place < 0 ? null : takePiece(site, gradients[place]!, moves[place]!);
  });
  for (let turn = record.length - 1; turn >= 0; turn--) {
    const run = retains ? record[turn]! : record.pop()!;
    const before: (Piece | null)[] = after.map(() => null);
    followRegionBackward(
      site,
      run,
      retains,
      (result) => {
        const gradient = after[result] ?? null;
        after[result] = null;
        return gradient;
      },
      (operand, gradient) => {
        if (operand < carried) {
          before[operand] = memory.share(gradient);
          return;
        }
        const place = to.indexOf(operand);
        if (place >= 0) sums.add(place, gradient);
      },
    );
    for (const piece of after) if (piece) memory.drop(piece);
    after = before;
  }
  to.forEach((operand, place) => {
    const gradient = after[operand];
    if (gradient) sums.add(place, gradient);
    sums.handOut(place);
  });
  for (const piece of after) if (piece) memory.drop(piece);
}
