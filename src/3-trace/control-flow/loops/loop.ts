import { GraphBreak } from '../../../traces/graph-break.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { NewArrayVariable, Variable } from '../../variables/variable.ts';
import { grownIn, withGrown } from '../lists/growable-array.ts';
import { heldMoreThanOnce, madeObjects } from '../locations/reachable.ts';
import { stateOf } from '../locations/state.ts';
import type { PathEnd } from '../plans/path.ts';
import { isRead } from '../trace-branch.ts';
import type { Carried } from './carried.ts';
import { type Form, LoopFixpoint } from './loop-fixpoint.ts';
import {
  growing,
  type KnownLoop,
  knownLoop,
  operandsKnown,
  rememberGrown,
  rememberOperands,
} from './loop-memory.ts';

/** The loop that begins where the frame stands, if the program is to hold it and isn't inside already. */
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
 * The loop goes through an array of known length: so it is in the first attempt to follow a loop around it, after
 * which the array may be one of data-dependent length.
 */
function iteratesKnown(t: Tracer, frame: TraceFrame, { header }: Loop): boolean {
  const instruction = frame.closure.code.instructions[header]!;
  if (instruction.op !== 'iteratorNext') return false;
  const iteration = frame.registers[instruction.iterator];
  if (iteration?.kind !== 'iteratorRecord' || iteration.iterator.kind !== 'iterator') return false;
  const { over } = iteration.iterator;
  return over.kind !== 'newCollection' && !grownIn(t, over) && t.control.listsGrow;
}

/**
 * Traces the loop as a loop of the program; if that isn't possible, for instance because JavaScript counts its
 * iterations, it is unrolled, and decisions that leave it are branches.
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

/** More attempts than this to find what a loop carries mean that every iteration adds something. */
const maxAttempts = 32;

/**
 * Converts a loop with a data-dependent end to one `while`. What it carries is found by following
 * the body: locations that an iteration leaves with another value become operands, until following it once more
 * adds none. Afterwards the trace continues after the loop.
 *
 * A loop that is left at its head only, by one decision before which nothing changes, is that condition
 * and a body. Of any other loop the body ends at the header or at one of the locations after the loop, and
 * flags that it carries say whether there is another iteration, and where it ended.
 */
function convertLoop(t: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  const known = knownLoop(t, loop.header);
  return convertHeaded(t, frame, loop, known) ?? convertAs(t, frame, loop, 'flagged', known)!;
}

/** Null when the loop is not of that form. */
function convertHeaded(t: Tracer, frame: TraceFrame, loop: Loop, known: KnownLoop): PathEnd | null {
  if (known.form === 'flagged') return null;
  try {
    const end = convertAs(t, frame, loop, 'headed', known);
    if (!end) known.form = 'flagged';
    return end;
  } catch (error) {
    // Whatever the form, the next iteration would add to it.
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
  const attempt = (grown: Iterable<NewArrayVariable>) => {
    const made = madeObjects(t);
    rememberGrown(known, made, grown);
    return attemptAs(t, frame, loop, form, known, made);
  };
  return withGrown(t, attempt, growing(known, madeObjects(t)));
}

function attemptAs(
  t: Tracer,
  frame: TraceFrame,
  loop: Loop,
  form: Form,
  known: KnownLoop,
  made: ReadonlySet<Variable>,
): PathEnd | null {
  const before = stateOf(t, frame, made);
  const header = { targets: [loop.header], value: null };
  const isLive = (location: Location) => isRead(t, frame, header, location);
  const expected = operandsKnown(t, known, made, before, isLive);
  const settle = (carried: Map<string, Carried>): PathEnd | null => {
    // What only one location holds may be another object after an iteration: that is not observable.
    const held = new Set(heldMoreThanOnce(t, frame, [loop.header]));
    const recorded = new Set<string>();
    const found = {
      made,
      before,
      carried,
      changes: new Map(),
      held,
      recorded,
      fractional: new Set<string>(),
    };
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const iteration = new LoopFixpoint(t, frame, loop, form, found);
      if (!iteration.fits) return null;
      if (!iteration.specialized) continue;
      rememberOperands(t, known, made, carried);
      return iteration.append();
    }
    throw new GraphBreak('unbounded-loop', 'a loop carries more with every iteration');
  };
  if (expected.size === 0) return settle(expected);
  try {
    return settle(expected);
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    return settle(new Map());
  }
}
