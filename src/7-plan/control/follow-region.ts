/** What control ops with regions do with memory alike. */

import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../storages.ts';
import type { ControlSite } from './control-site.ts';
import { sumOfLists } from './follow-lists.ts';
import type { Piece, RecordedRun } from './run-memory.ts';

/** What the site takes of an operand: the share that the scope around had, or one more; null: it is missing. */
export function takePiece(
  { follower: { memory }, scope }: ControlSite,
  id: ValueId,
  moves: boolean,
): Piece | null {
  const piece = scope.get(id);
  if (!piece) return null;
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
    const { follower, step, values } = this.#site;
    const { memory } = follower;
    const sum = this.#sums[place];
    if (!sum) {
      this.#sums[place] = memory.share(part);
      return;
    }
    if (sum.owners === 1 && !sum.items) return;
    const id = step.op.outputs[place]!;
    this.#sums[place] = sum.items
      ? sumOfLists(memory, sum, part, values[id]!)
      : memory.make(sum.bytes);
    memory.drop(sum);
  }

  /** Goes on from a piece that is the sum's own. */
  startFrom(place: number, piece: Piece | null): void {
    this.#sums[place] = piece;
  }

  /** The sum so far, which a region takes over. */
  take(place: number): Piece | null {
    const sum = this.#sums[place] ?? null;
    this.#sums[place] = null;
    return sum;
  }

  /** Nothing where nothing came. */
  handOut(place: number): void {
    const { step, scope } = this.#site;
    const sum = this.#sums[place];
    if (sum) scope.set(step.op.outputs[place]!, sum);
  }
}

/**
 * Backward of one recorded run. `given` answers the gradient of a result, which is the run's own from then
 * on; null: it is missing.
 */
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
    const gradient = given(i);
    if (gradient) recorded.set(id, gradient);
  });
  const gradients = part.gradOutputs.filter((id) => id !== null);
  follower.run(plan, region.values, recorded, gradients);
  part.gradInputs.forEach((id, i) => {
    const gradient = id === null ? undefined : recorded.get(id);
    if (gradient) take(i, gradient);
  });
  if (retains) memory.dropAtEnd(recorded, plan);
  else memory.clear(recorded);
}

/** A region that is followed by itself knows nothing of a tape from around it: then all gradients are new memory. */
export function tapeOf({
  follower,
  step,
  values,
  scope,
}: ControlSite): (Piece & { tape: RecordedRun[] }) | null {
  const { tape, ...piece } = scope.get(step.op.inputs[0]!)!;
  if (tape) return { ...piece, tape };
  for (const id of step.op.outputs) scope.set(id, follower.memory.make(bytesOf(values, id)));
  return null;
}
