import type { Step } from '../../program/plan.ts';
import { Slot } from '../scope/scope.ts';

/**
 * Returns, for each operand of a control op, whether its reference moves inside: it dies with the op, which reads it
 * in one place.
 */
export function handedOver({ op, frees }: Pick<Step, 'op' | 'frees'>): boolean[] {
  const { inputs } = op;
  return inputs.map((id, i) => {
    return frees.includes(id) && inputs.indexOf(id) === i && inputs.lastIndexOf(id) === i;
  });
}

/**
 * Returns, for each operand of a call, whether its reference moves inside. A value that is several operands moves
 * with the last of them; each is an owner inside, and the value dies there once all have read it.
 */
export function handedToCall({ op, frees }: Pick<Step, 'op' | 'frees'>): boolean[] {
  const { inputs } = op;
  return inputs.map((id, i) => frees.includes(id) && inputs.lastIndexOf(id) === i);
}

/** A slot with the value of another one: with its share, or with one more; empty if that is. */
export function takeFrom(from: Slot, moves: boolean): Slot {
  const slot = new Slot();
  if (!from.holder) return slot;
  slot.put(moves ? from.holder : from.holder.retain(), from.offset, from.identity, from.name);
  if (moves) from.holder = null;
  return slot;
}
