import { mayBailOut } from '../../../runtime/program/checks.ts';
import type { PlannedSubgraph } from '../../../runtime/program/plan.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { compileReader, type Reader, type Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { changedBy, contentsOf, possibleOf, storedBy } from '../../traces/recipes.ts';
import type { Recipe, TraceResult } from '../../traces/trace-result.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { owns } from '../../vm/language/primordials.ts';
import type { OwnedTensors } from './owned-tensors.ts';

/** Inputs from this index on are never donated: the choice is a 30-bit set. */
const bits = 30;

/**
 * Finds the inputs that die with a call. Known at compile time: the input is in a register or argument of an entry
 * frame that nothing after the call reads. Known only at the call: it is a result of an earlier subgraph, only the
 * frames reference it, no other live register contains it, and its memory has no other owner. Returns a function that
 * checks the latter; null if no input can die.
 */
export function compileDonation(
  result: TraceResult,
  { forward, values }: PlannedSubgraph,
): ((inputs: readonly Tensor[], frames: readonly Frame[], owned: OwnedTensors) => number) | null {
  // A rejected call runs again natively, and needs its inputs.
  if (mayBailOut(forward.steps)) return null;
  const { inputs: ids, unusedInputs } = forward;
  const kept = keptSources(result);
  const mentioned = new Set(kept.flatMap(withBases).map(sourceKey));
  const entered = enteredFrames(result);
  const eligible = result.inputs.flatMap((source, i) => {
    const isLocal =
      source.kind === 'register' || (source.kind === 'argument' && !entered.has(source.frame));
    const isRead = !unusedInputs.includes(ids[i]!);
    return i < bits && isLocal && isRead && !mentioned.has(sourceKey(source)) ? [i] : [];
  });
  if (eligible.length === 0) return null;
  const others: Reader[] = kept.map(compileReader);
  const continued = [...entered];
  const isHeld = (tensor: Tensor, frames: readonly Frame[]) =>
    others.some((read) => read(frames) === tensor) ||
    continued.some((frame) => holdsInCall(frames[frame]!, tensor));
  return (inputs, frames, owned) => {
    let donated = 0;
    for (const i of eligible) {
      const tensor = inputs[i]!;
      if (!owned.has(tensor) || !ownsItsMemory(tensor)) continue;
      const isOnce = inputs.indexOf(tensor) === i && inputs.lastIndexOf(tensor) === i;
      if (isOnce && !isHeld(tensor, frames)) donated |= 1 << i;
    }
    return donated;
  };
}

/** Whether the tensor covers its whole memory and is its only owner. */
function ownsItsMemory({ holder, offset, shape, dtype, device, isContiguous }: Tensor): boolean {
  if (holder?.owners !== 1 || offset !== 0 || !isContiguous) return false;
  return holder.bytes === sizeOf(shape) * device.elementBytes(dtype);
}

function holdsInCall({ args, thisValue }: Frame, tensor: Tensor): boolean {
  return thisValue === tensor || args.includes(tensor);
}

/** Frames whose call continues, with all its arguments. */
function enteredFrames({ outcome }: TraceResult): Set<number> {
  if (outcome.kind === 'return') return new Set();
  return new Set(outcome.frames.flatMap(({ call }) => (call.kind === 'entry' ? [call.frame] : [])));
}

/** Returns the sources in the entry frames that are read after the call. */
function keptSources({ outcome, makes, effects }: TraceResult): Source[] {
  const recipes: Recipe[] = [...makes.flatMap(contentsOf), ...effects.flatMap(storedBy)];
  const sources: Source[] = effects.flatMap((effect) => changedBy(effect) ?? []);
  if (outcome.kind === 'return') recipes.push(...possibleOf(outcome.value));
  else {
    for (const { call, registers } of outcome.frames) {
      recipes.push(...registers.map(([, recipe]) => recipe));
      if (call.kind === 'inlined') recipes.push(...call.cells, call.thisValue, ...call.args);
    }
  }
  for (const recipe of recipes) if (owns(recipe, 'source')) sources.push(recipe.source);
  return sources;
}

function withBases(source: Source): Source[] {
  return owns(source, 'base') ? [source, ...withBases(source.base)] : [source];
}
