/** Objects created in the trace that are still reachable. */

import { needsArguments } from '../../../vm/bytecode/call-inputs.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import { liveBefore, liveDuring } from '../../../vm/bytecode/liveness.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { Variable } from '../../variables/variable.ts';
import { containedIn } from './contained-variables.ts';

/** Returns the reachable objects that were created in the trace, and may therefore be changed. */
export function existingObjects(t: Tracer, partsIn = containedIn): ReadonlySet<Variable> {
  const found = new Set<Variable>();
  const pending: Variable[] = [];
  const reach = (variable: Variable | null | undefined) => {
    if (variable && !found.has(variable)) {
      found.add(variable);
      pending.push(variable);
    }
  };
  for (const frame of t.frames) {
    for (const variable of frame.registers) reach(variable);
    for (const variable of [...frame.args, ...frame.cells, frame.thisVariable]) reach(variable);
  }
  for (const member of privateMembers(t)) reach(member);
  for (const { value } of t.effects.writes()) reach(value);
  for (const { content } of t.effects.arrays()) reach(content);
  for (const { content } of t.effects.collections()) reach(content);
  for (const { key, value } of t.effects.collectionChanges) [key, value].forEach(reach);
  for (let variable = pending.pop(); variable; variable = pending.pop()) {
    for (const part of partsIn(variable)) reach(part);
  }
  return found;
}

/** Yields private methods and accessors, which are not stored in any object. */
function* privateMembers(t: Tracer): Generator<Variable | null> {
  for (const { shared } of t.privateNames.values()) {
    if (shared) yield* [shared.value, shared.get, shared.set];
  }
}

/**
 * Returns the values with more than one path from registers that later instructions read, or from the returned
 * value.
 */
export function heldMoreThanOnce(
  t: Tracer,
  frame: TraceFrame,
  pcs: readonly Pc[],
  returned: Variable | null = null,
): ReadonlySet<Variable> {
  return reachedFrom(t, frame, pcs, returned).again;
}

interface ReachableValues {
  readonly found: ReadonlySet<Variable>;
  /** Values that more than one path reaches. */
  readonly again: ReadonlySet<Variable>;
}

/** Returns the objects reachable from values that are read from one of the pcs on, or returned. */
export function reachedFrom(
  t: Tracer,
  frame: TraceFrame,
  pcs: readonly Pc[],
  returned: Variable | null,
): ReachableValues {
  const found = new Set<Variable>();
  const again = new Set<Variable>();
  const pending: Variable[] = [];
  const reach = (variable: Variable | null | undefined) => {
    if (!variable) return;
    if (found.has(variable)) again.add(variable);
    else {
      found.add(variable);
      pending.push(variable);
    }
  };
  for (const { closure, pc: at, ...each } of t.frames) {
    const { code } = closure;
    const isTop = each.registers === frame.registers;
    // A caller's pc is already past its call.
    const live = isTop ? pcs.flatMap((pc) => [...liveBefore(code)[pc]!]) : liveDuring(code, at - 1);
    for (const register of new Set(live)) reach(each.registers[register]);
    const reads = isTop ? pcs : [at];
    if (reads.some((pc) => needsArguments(code, pc))) each.args.forEach(reach);
    for (const variable of [...each.cells, each.thisVariable]) reach(variable);
    // The frames above have returned.
    if (isTop) break;
  }
  for (const member of privateMembers(t)) reach(member);
  for (const { value } of t.effects.writes()) reach(value);
  // Counted twice, since holders of the pre-existing array, Map or Set itself also reach its content.
  for (const { content } of [...t.effects.arrays(), ...t.effects.arrays()]) reach(content);
  for (const { content } of [...t.effects.collections(), ...t.effects.collections()]) {
    reach(content);
  }
  for (const { key, value } of t.effects.collectionChanges) [key, value].forEach(reach);
  reach(returned);
  for (let variable = pending.pop(); variable; variable = pending.pop()) {
    for (const part of containedIn(variable)) reach(part);
  }
  return { found, again };
}
