import { GraphBreak } from '../../../traces/graph-break.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { NewArrayVariable, Variable } from '../../variables/variable.ts';
import { growableIn, withGrowable } from '../lists/growable-array.ts';
import { existingObjects, heldMoreThanOnce } from '../locations/reachable.ts';
import { stateOf } from '../locations/snapshot.ts';
import type { PathEnd } from '../plans/path.ts';
import { isRead } from '../trace-branch.ts';
import { type Form, LoopFixpoint } from './loop-fixpoint.ts';
import {
  type Expected,
  growing,
  type KnownLoop,
  knownLoop,
  operandsKnown,
  rememberGrowable,
  rememberOperands,
} from './loop-memory.ts';

/**
 * Returns the loop that begins at the frame's pc, if it should become a loop of the program and isn't active
 * already.
 */
export function loopToConvert(t: Tracer, frame: TraceFrame): Loop | undefined {
  const { limitsUnrolling } = t.control;
  if (t.control.plans.isEmpty && !limitsUnrolling) return undefined;
  const { code } = frame.closure;
  const loop = structureOf(code).loops.get(frame.pc);
  if (!loop || t.control.isActive(frame, loop)) return undefined;
  const plan = t.control.plans.of(code, loop);
  const isFirst = frame.last === null || !loop.body.has(frame.last);
  if (limitsUnrolling && plan === undefined) t.control.countIteration(frame, loop, isFirst);
  if (plan === 'while' && t.control.isInLoop && iteratesKnown(t, frame, loop)) return undefined;
  return plan === 'while' || (plan === 'peeled' && !isFirst) ? loop : undefined;
}

/**
 * Returns whether the loop iterates over an array of known length, as in the first attempt to trace an outer loop:
 * later, the array may have a data-dependent length.
 */
function iteratesKnown(t: Tracer, frame: TraceFrame, { header }: Loop): boolean {
  const instruction = frame.closure.code.instructions[header]!;
  if (instruction.op !== 'iteratorNext') return false;
  const iteration = frame.registers[instruction.iterator];
  if (iteration?.kind !== 'iteratorRecord' || iteration.iterator.kind !== 'iterator') return false;
  const { over } = iteration.iterator;
  return over.kind !== 'newCollection' && !growableIn(t, over) && t.control.listsGrow;
}

/**
 * Traces the loop as a loop of the program. If that is impossible, for instance because JavaScript counts its
 * iterations, the loop is unrolled, and decisions that leave it become branches.
 */
export function convertOrUnroll(t: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  t.control.expectFewPaths(frame);
  try {
    return convertLoop(t, frame, loop);
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    return t.control.plans.unroll(frame.closure.code, loop, error);
  }
}

/** The maximum number of attempts to find the loop-carried values; more mean that every iteration adds one. */
const maxAttempts = 32;

/**
 * Converts a loop with a data-dependent end to a `while`. Its loop-carried values are found by tracing the body:
 * locations that an iteration changes become operands, until an attempt adds none. The trace then continues after the
 * loop.
 *
 * A single-exit loop, left only by a decision at its head before which nothing changes, consists of that condition and
 * a body. The body of any other loop ends at the header or at one of the exits; loop-carried flags decide whether
 * another iteration follows, and where the loop was left.
 */
function convertLoop(t: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  const known = knownLoop(t, loop.header);
  return convertHeaded(t, frame, loop, known) ?? convertAs(t, frame, loop, 'flagged', known)!;
}

/** Returns null if the loop is not a single-exit loop. */
function convertHeaded(t: Tracer, frame: TraceFrame, loop: Loop, known: KnownLoop): PathEnd | null {
  if (known.form === 'flagged') return null;
  try {
    const end = convertAs(t, frame, loop, 'headed', known);
    if (!end) known.form = 'flagged';
    return end;
  } catch (error) {
    // The other form would find a change in every iteration, too.
    if (error instanceof GraphBreak && error.reason !== 'unbounded-loop') return null;
    throw error;
  }
}

function convertAs(
  t: Tracer,
  frame: TraceFrame,
  loop: Loop,
  form: Form,
  known: KnownLoop,
): PathEnd | null {
  const attempt = (growable: Iterable<NewArrayVariable>) => {
    const existing = existingObjects(t);
    rememberGrowable(known, existing, growable);
    return attemptAs(t, frame, loop, form, known, existing);
  };
  return withGrowable(t, attempt, growing(known, existingObjects(t)));
}

function attemptAs(
  t: Tracer,
  frame: TraceFrame,
  loop: Loop,
  form: Form,
  known: KnownLoop,
  existing: ReadonlySet<Variable>,
): PathEnd | null {
  const before = stateOf(t, frame, existing);
  const header = { targets: [loop.header], value: null };
  const isLive = (location: Location) => isRead(t, frame, header, location);
  const expected = operandsKnown(t, known, existing, before, isLive);
  const settle = ({ carried, fractional }: Expected): PathEnd | null => {
    // An object that only one location refers to may be a different object after an iteration, which is not
    // observable.
    const held = new Set(heldMoreThanOnce(t, frame, [loop.header]));
    const recorded = new Set<string>();
    const found = { existing, before, carried, changes: new Map(), held, recorded, fractional };
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const iteration = new LoopFixpoint(t, frame, loop, form, found);
      if (!iteration.fits) return null;
      if (!iteration.specialized) continue;
      rememberOperands(t, known, existing, { carried, fractional });
      return iteration.append();
    }
    throw new GraphBreak('unbounded-loop', 'a loop carries more with every iteration');
  };
  if (expected.carried.size === 0) return settle(expected);
  try {
    return settle(expected);
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    return settle({ carried: new Map(), fractional: new Set() });
  }
}
