/** Reads and decisions that become part of the program. */

import { eq } from '../../../runtime/ops/pointwise/pointwise.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import { liveBefore } from '../../vm/bytecode/liveness.ts';
import { type Structure, structureOf } from '../../vm/bytecode/structure.ts';
import { OwnMap } from '../../vm/language/primordials.ts';
import { isProtected } from '../state/exceptions.ts';
import { isControlFlowFile } from '../state/framework-files.ts';
import { expectFewDecisions } from '../state/trace-limits.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { UnionMet } from '../variables/unions.ts';
import type { DeviceScalar, TensorVariable, Variable } from '../variables/variable.ts';
import { narrow, selectedBy, specializeByTag } from './merge/union.ts';
import { check } from './numbers/check.ts';
import { readArray } from './numbers/read-array.ts';
import { asTruth, readScalar } from './numbers/scalars.ts';
import { endAt, numberOf, type PathEnd, type Target } from './plans/path.ts';
import { sortByRanks } from './sort-order.ts';
import { type Start, startAt, startWith } from './trace-branch.ts';
import { traceCond } from './trace-cond.ts';

/**
 * The maximum nesting of decisions that are traced to the end of the function: each doubles the number of paths.
 */
const maxTails = 8;

/** Reads whose results are program values if data-dependent decisions are in the program. */
const readers = new OwnMap<unknown, (t: Tracer, x: TensorVariable) => Variable | undefined>([
  [Tensor.prototype.itemSync, readScalar],
  [Tensor.prototype.toArraySync, readArray],
  [Tensor.prototype.tolist, readArray],
]);

/** `x.itemSync()` or `x.toArraySync()` as part of the program; undefined if the read is not captured. */
export function readInGraph(t: Tracer, fn: unknown, receiver: Variable): Variable | undefined {
  const read = readers.get(fn);
  if (!read || receiver.kind !== 'tensor') return undefined;
  const { file } = t.top.closure.code.source;
  if (t.control.policy === 'functions' && !isControlFlowFile(file)) return undefined;
  const found = read(t, receiver);
  if (found) t.control.hasRead = true;
  return found;
}

/** Captures a jump on a data-dependent condition. Returns where the trace continues. */
export function decide(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  whenTrue: Pc,
  whenFalse: Pc,
): Pc {
  const { code } = frame.closure;
  const head = t.control.endsHead(frame, whenTrue, whenFalse);
  if (head) {
    const stays = head.body.has(whenTrue);
    const targets = stays ? [whenTrue, whenFalse] : [whenFalse, whenTrue];
    t.control.ended = { targets, which: null, value: null, test: { scalar: test, stays } };
    return frame.pc;
  }
  sortByRanks(t, frame);
  const structure = structureOf(code);
  const merge = structure.merges[frame.pc];
  const checked = checkInstead(t, frame, test, structure, whenTrue, whenFalse);
  if (checked !== undefined) return checked;
  const { pc } = frame;
  const { plans } = t.control;
  const isLeft = plans.has('unmerged', code, pc) && mayBeLeft(t);
  const tail = plans.has('followed to the end', code, pc) || isLeft ? tailOf(t) : null;
  if (tail) return followToEnd(t, frame, test, [whenTrue, whenFalse], tail);
  planLoops(t, frame, structure, merge);
  expectFewPaths(t, frame);
  const stops = new Set(t.control.stopsIn(frame));
  if (typeof merge === 'number') stops.add(merge);
  try {
    // A break after the first branch must roll back that branch, whose in-place writes would otherwise remain.
    return t.attempt(() => {
      const end = traceCond(t, frame, test, [
        startAt(t, frame, whenTrue, stops, () => specializeByTag(t, test, true)),
        startAt(t, frame, whenFalse, stops, () => specializeByTag(t, test, false)),
      ]);
      return settle(t, frame, end);
    });
  } catch (error) {
    const isUnmergeable =
      error instanceof GraphBreak &&
      (error.passesMerge || (error.atMerge && typeof merge === 'number'));
    if (isUnmergeable && !plans.has('unmerged', code, pc) && mayBeLeft(t))
      plans.restartWith('unmerged', code, pc);
    throw error;
  }
}

/**
 * Returns whether the paths of a decision may stay separate to the end. In a loop, paths merge at the end of the
 * iteration.
 */
function mayBeLeft(t: Tracer): boolean {
  return t.control.policy === 'always' && !t.control.isInLoop && t.control.tails < maxTails;
}

/** The end of the path being traced: the return of the captured function, or the merge with other paths. */
interface Tail {
  readonly frame: TraceFrame;
  readonly depth: number;
  readonly stops: ReadonlySet<Pc>;
  readonly isWhole: boolean;
}

/** Returns the end of the current path; null if a call made inside an instruction lies in between. */
function tailOf(t: Tracer): Tail | null {
  if (t.control.tails === maxTails) {
    const what = `a gradient of a gradient goes through more than ${maxTails} branches inside one another`;
    throw new GraphBreak('branch-gradient', what);
  }
  const path = t.control.innermost;
  const index = path ? t.frames.indexOf(path.frame) : 0;
  if (index < t.floor || t.frames.length === 0) return null;
  const stops = path?.stops ?? new Set();
  return { frame: t.frames[index]!, depth: index + 1, stops, isWhole: path === null };
}

/**
 * Traces each path to the end of the function or region as a region that contains all remaining ops, so that
 * gradients computed there pass through no branch.
 */
function followToEnd(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  [whenTrue, whenFalse]: readonly [Pc, Pc],
  { frame: last, depth, stops, isWhole }: Tail,
): Pc {
  expectFewPaths(t, frame);
  const startOf =
    (pc: Pc, holds: boolean): Start =>
    () => {
      specializeByTag(t, test, holds);
      if (frame === last && stops.has(pc)) return endAt(pc);
      frame.pc = pc;
      return t.execution.runPath(depth, stops);
    };
  return t.attempt(() => {
    t.control.tails++;
    try {
      const end = traceCond(t, last, test, [startOf(whenTrue, true), startOf(whenFalse, false)]);
      t.frames.length = depth;
      if (isWhole) t.control.returning = end.value;
      else t.control.ended = end;
      return frame.pc;
    } finally {
      t.control.tails--;
    }
  });
}

/**
 * If one path can only throw, the program checks that it isn't taken. If it is, the run ends without effects, and
 * the user's own code throws its own error.
 */
function checkInstead(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  { merges }: Structure,
  whenTrue: Pc,
  whenFalse: Pc,
): Pc | undefined {
  const throws = [whenTrue, whenFalse].map((pc) => merges[pc] === undefined);
  if (throws[0] === throws[1] || isProtected(t)) return undefined;
  check(t, asTruth(t, test), !throws[0]);
  specializeByTag(t, test, !throws[0]);
  return throws[0] ? whenFalse : whenTrue;
}

/** Plans a `while` for each loop that the decision may leave. */
function planLoops(
  t: Tracer,
  frame: TraceFrame,
  { loops }: Structure,
  merge: Pc | null | undefined,
): void {
  const { code } = frame.closure;
  for (const loop of loops.values()) {
    if (!loop.body.has(frame.pc) || t.control.isActive(frame, loop)) continue;
    if (typeof merge === 'number' && loop.body.has(merge)) continue;
    if (t.control.plans.of(code, loop) === undefined) t.control.plans.chooseWhile(code, loop);
  }
}

/** Traces an instruction once per option of a union. Returns where the trace continues. */
export function followOptions(t: Tracer, frame: TraceFrame, { selector, options }: FoundUnion): Pc {
  const { pc } = frame;
  const structure = structureOf(frame.closure.code);
  const merge = mergeOfOptions(frame, structure);
  planLoops(t, frame, structure, merge);
  expectFewPaths(t, frame);
  const stops = new Set(t.control.stopsIn(frame));
  if (typeof merge === 'number') stops.add(merge);
  const startWithOption =
    (option: number): Start =>
    () => {
      narrow(t, selector, option);
      frame.pc = pc;
      return t.execution.runFrom(t.frames.length, stops);
    };
  const followFrom = (option: number): PathEnd => {
    const holds = options.map((_, i) => i === option);
    const test = selectedBy(t, selector, holds) as DeviceScalar;
    const isLast = option === options.length - 2;
    const rest: Start = isLast ? startWithOption(option + 1) : () => followFrom(option + 1);
    return traceCond(t, frame, test, [startWithOption(option), rest]);
  };
  return t.attempt(() => settle(t, frame, followFrom(0)));
}

type FoundUnion = UnionMet['union'];

/**
 * Returns the instruction at which the paths of an instruction's options merge. Paths that begin an iteration merge
 * where it has ended, since iterators over several values can't be merged.
 */
function mergeOfOptions(
  { closure: { code }, pc }: TraceFrame,
  { merges }: Structure,
): Pc | null | undefined {
  const instruction = code.instructions[pc]!;
  let merge = merges[pc];
  if (instruction.op !== 'getIterator' && instruction.op !== 'getKeyIterator') return merge;
  const live = liveBefore(code);
  while (typeof merge === 'number' && live[merge]!.has(instruction.dst)) merge = merges[merge];
  return merge;
}

/** Throws a graph break if the decision is nested too deeply or known to have too many paths. */
function expectFewPaths(t: Tracer, frame: TraceFrame): void {
  t.control.expectFewPaths(frame);
  expectFewDecisions(t.control);
}

/** Continues at the end of the traced part. Returns the pc; a return or the end of the current path is recorded. */
export function settle(t: Tracer, frame: TraceFrame, end: PathEnd): Pc {
  const [target] = end.targets;
  if (end.targets.length === 1 && target !== undefined) {
    if (target !== 'return') return target;
    t.control.returning = end.value;
    return frame.pc;
  }
  const stops = t.control.stopsIn(frame);
  if (end.targets.every((each) => each === 'return' || stops.has(each))) {
    t.control.ended = end;
    return frame.pc;
  }
  return settle(t, frame, dispatch(t, frame, end));
}

/** Continues at one of several targets, chosen by the program. */
function dispatch(t: Tracer, frame: TraceFrame, end: PathEnd): PathEnd {
  const [first, ...others] = end.targets as [Target, ...Target[]];
  const stops = new Set(t.control.stopsIn(frame));
  // A path that reaches a stop waits there. If only one path remains, there is nothing to merge.
  const open = end.targets.filter((target) => target === 'return' || !stops.has(target));
  const merge = open.length > 1 ? commonMerge(structureOf(frame.closure.code), open) : undefined;
  if (merge !== undefined) stops.add(merge);
  const { tensor } = end.which!;
  const test: DeviceScalar = {
    kind: 'scalar',
    type: 'boolean',
    tensor: t.runApi(() => eq(tensor, numberOf(first))),
  };
  const startOf = (target: Target): Start =>
    target === 'return' ? startWith(end.value!) : startAt(t, frame, target, stops);
  const rest: Start =
    others.length === 1
      ? startOf(others[0]!)
      : () => dispatch(t, frame, { ...end, targets: others });
  return traceCond(t, frame, test, [startOf(first), rest]);
}

/** Returns the first instruction that all paths from the targets to the return have in common. */
function commonMerge({ merges }: Structure, targets: readonly Target[]): Pc | undefined {
  const chains = targets.map((target) => {
    const chain: Pc[] = [];
    let at: Pc | null | undefined = target === 'return' ? null : target;
    while (typeof at === 'number') {
      chain.push(at);
      at = merges[at];
    }
    return chain;
  });
  const [first, ...others] = chains;
  return first?.find((pc) => others.every((chain) => chain.includes(pc)));
}
