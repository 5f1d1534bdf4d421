import { type GivenOperand, operandsOf } from '../../../runtime/program/dynamic-call.ts';
import type { PlannedCall, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import { FailedCheck } from '../../../runtime/run-program/control/assert.ts';
import { handedOver, handedToCall } from '../../../runtime/run-program/control/handed-over.ts';
import type { ControlSite } from './control-site.ts';
import { followRegionBackward, GradientSums, takePiece, tapeOf } from './follow-region.ts';
import type { FollowedScope, Piece } from './run-memory.ts';

/** What `runtime/run-program/control/call.ts` does with memory. */
export function followCall(site: ControlSite): void {
  const { follower, step, scope } = site;
  const { memory, decider } = follower;
  const { op, call: planned } = step;
  const { forms, dynamic, list, sample } = planned!.call;
  const moves = handedToCall(step);
  const given = forms.map((form, i): GivenOperand => {
    if (form === 'tensor') return null;
    if (form === 'number') return decider.number() ?? sample[i]!;
    const piece = scope.get(op.inputs[i]!)!;
    return form === 'list' ? (piece.items?.length ?? 0) : (piece.shape ?? sample[i]!);
  });
  const [region, shapes] = planOrSample(planned!, given);
  const inner: FollowedScope = new Map();
  let input = 0;
  const enter = (piece: Piece | null) => {
    const id = region.forward.inputs[input++]!;
    if (!piece) return;
    if (region.forward.unusedInputs.includes(id)) memory.drop(piece);
    else inner.set(id, piece);
  };
  forms.forEach((form, i) => {
    if (form === 'number') return;
    const id = op.inputs[i]!;
    if (form === 'tensor') {
      enter(takePiece(site, id, moves[i]!)!);
      return;
    }
    const items = memory.take(scope, id, moves[i]!);
    const count = form === 'list' ? (shapes[i] as number) : 1;
    // Another number of them: it is a way that no run takes.
    for (let k = 0; k < count; k++) enter(items[k] ?? memory.make(0));
    for (const item of items.slice(count)) if (item) memory.drop(item);
  });
  follower.run(region.forward, region.values, inner);
  if (list) {
    const items = region.forward.outputs.map((id) => memory.share(inner.get(id)!));
    scope.set(op.outputs[0]!, memory.gather(items));
  } else
    op.outputs.slice(0, -1).forEach((id, i) => {
      const result = region.forward.outputs[i]!;
      const piece = memory.share(inner.get(result)!);
      const { shape } = region.values[result]!;
      scope.set(id, dynamic[i] ? memory.makeDynamic(piece, shape) : piece);
    });
  memory.dropAtEnd(inner, region.forward);
  const record = memory.makeTape();
  scope.set(op.outputs.at(-1)!, record);
  if (region.backward) record.tape.push({ region, scope: inner, given: shapes });
  else memory.clear(inner);
}

/** Of shapes that the call refuses, on a way that no run takes, the plan for others. */
function planOrSample(
  planned: PlannedCall,
  given: readonly GivenOperand[],
): readonly [PlannedSubgraph, readonly GivenOperand[]] {
  try {
    return [planned.at(given), given];
  } catch (error) {
    if (!(error instanceof FailedCheck)) throw error;
    const { sample } = planned.call;
    return [planned.at(sample), sample];
  }
}

export function followCallBackward(site: ControlSite): void {
  const record = tapeOf(site);
  if (!record) return;
  const { follower, step, scope } = site;
  const { memory } = follower;
  const { op, frees, call: planned } = step;
  const { forms, dynamic, list } = planned!.call;
  const [tape, ...gradients] = op.inputs;
  const [of, to] = [op.attrs.of as readonly number[], op.attrs.to as readonly number[]];
  const retains = !frees.includes(tape!) || record.owners > 1;
  const moves = handedOver(step).slice(1);
  const sums = new GradientSums(site);
  const made = new Map<number, (Piece | null)[]>();
  const run = retains ? record.tape.at(-1) : record.tape.pop();
  const shapes = run?.given;
  if (run?.region.backward && shapes) {
    const operands = operandsOf(forms, shapes);
    followRegionBackward(
      site,
      run,
      retains,
      (result) => {
        const place = of.indexOf(list ? 0 : result);
        if (place < 0) return null;
        const id = gradients[place]!;
        if (list) {
          const item = scope.get(id)?.items?.[result];
          return item ? memory.share(item) : null;
        }
        if (!dynamic[result]) return takePiece(site, id, moves[place]!);
        return scope.get(id)?.items ? memory.take(scope, id, moves[place]!)[0]! : null;
      },
      (input, gradient) => {
        const operand = operands[input]!;
        const place = to.indexOf(operand);
        if (place < 0) return;
        if (forms[operand] === 'tensor') {
          sums.add(place, gradient);
          return;
        }
        const count = forms[operand] === 'list' ? (shapes[operand] as number) : 1;
        const items = made.get(place) ?? new Array<Piece | null>(count).fill(null);
        made.set(place, items);
        items[input - operands.indexOf(operand)] = memory.share(gradient);
      },
    );
  }
  to.forEach((operand, place) => {
    const items = made.get(place);
    const id = op.outputs[place]!;
    if (!items) sums.handOut(place);
    else if (forms[operand] === 'list') scope.set(id, memory.gather(items));
    else scope.set(id, memory.makeDynamic(items[0]!, shapes![operand] as readonly number[]));
  });
}
