import type { Step } from '../../program/plan.ts';
import { Slot } from '../scope/scope.ts';

/** Returns for each operand of a control op whether its reference moves inside: it dies there, read only once. */
export function movedOperands({ op, frees }: Pick<Step, 'op' | 'frees'>): boolean[] {
  const { inputs } = op;
  return inputs.map((id, i) => {
    return frees.includes(id) && inputs.indexOf(id) === i && inputs.lastIndexOf(id) === i;
  });
}

/**
 * Returns for each operand of a call whether its reference moves inside. If a value is several operands, the
 * reference moves with the last of them; each is an owner inside, and the value dies there once all have read it.
 */
export function movedCallOperands({ op, frees }: Pick<Step, 'op' | 'frees'>): boolean[] {
  const { inputs } = op;
  return inputs.map((id, i) => frees.includes(id) && inputs.lastIndexOf(id) === i);
}

/** Returns a slot with another slot's value: with its reference if it `moves`, else a new one; may be empty. */
export function takeFrom(from: Slot, moves: boolean): Slot {
  const slot = new Slot();
  if (!from.holder) return slot;
  slot.put(moves ? from.holder : from.holder.retain(), from.offset, from.identity, from.name);
  if (moves) from.holder = null;
  return slot;
}
