/** What control ops with regions do with memory alike. */

import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../storages.ts';
import type { ControlSite } from './follow-control.ts';
import { sumOfLists } from './follow-lists.ts';
import type { Piece, RecordedRun } from './run-memory.ts';

export function takePiece(
  { follower: { memory }, scope }: ControlSite,
  id: ValueId,
  moves: boolean,
) {
  const piece = scope.get(id)!;
  if (moves) scope.delete(id);
  else memory.share(piece);
  return piece;
}

/** The gradients of the operands that attr `to` names, as they are summed up. */
export class GradientSums {
  readonly #site: ControlSite;
  readonly #sums: (Piece | null)[];

  constructor(site: ControlSite) {
    this.#site = site;
    this.#sums = site.step.op.outputs.map(() => null);
  }

  add(place: number, part: Piece): void {
    const { memory } = this.#site.follower;
    const sum = this.#sums[place];
    if (!sum) {
      this.#sums[place] = memory.share(part);
      return;
    }
    if (sum.items || part.items) {
      const { step, values } = this.#site;
      this.#sums[place] = sumOfLists(memory, sum, part, values[step.op.outputs[place]!]!);
      memory.drop(sum);
      return;
    }
    if (sum.owners === 1) return;
    this.#sums[place] = memory.make(sum.bytes);
    memory.drop(sum);
  }

  /** Zeros where nothing came. */
  handOut(place: number): void {
    const { follower, step, values, scope } = this.#site;
    const id = step.op.outputs[place]!;
    scope.set(id, this.#sums[place] ?? follower.memory.make(bytesOf(values, id)));
  }
}

/** Backward of one recorded run. `given` answers the gradient of a result, which is the run's own from then on. */
export function followRegionBackward(
  { follower }: ControlSite,
  { region, scope: recorded }: RecordedRun,
  retains: boolean,
  given: (result: number) => Piece | null,
  take: (operand: number, gradient: Piece) => void,
): void {
  const { memory } = follower;
  const part = region.backward;
  invariant(part, 'a recorded region has a backward');
  const plan = retains ? part.retainingPlan : part.plan;
  part.gradOutputs.forEach((id, i) => {
    if (id === null || plan.unusedInputs.includes(id)) return;
    recorded.set(id, given(i) ?? memory.make(bytesOf(region.values, id)));
  });
  follower.run(plan, region.values, recorded);
  part.gradInputs.forEach((id, i) => {
    if (id !== null) take(i, recorded.get(id)!);
  });
  if (retains) memory.dropAtEnd(recorded, plan);
  else memory.clear(recorded);
}
