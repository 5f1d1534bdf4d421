import { invariant } from '../../../../runtime/errors/invariant.ts';
import { eq } from '../../../../runtime/ops/pointwise/pointwise.ts';
import { whileOp } from '../../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Loop } from '../../../vm/bytecode/structure.ts';
import { capturedByAny, RegionBuilder } from '../../state/region-builder.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { DeviceScalar, Variable } from '../../variables/variable.ts';
import { leafTensor, leafVariable } from '../merge/leaves.ts';
import { expectNoLeavesInside } from '../merge/leaves-inside.ts';
import type { Merged } from '../merge/phi-merger.ts';
import {
  noteDecided,
  noteLoopResults,
  requiresGradAlways,
  requiresGradFlag,
} from '../merge/requires-grad.ts';
import { asTruth, constantTensor, scalarUnary } from '../numbers/scalars.ts';
import { noteWhole } from '../numbers/whole-numbers.ts';
import { numberOf, type PathEnd, reaches } from '../plans/path.ts';
import type { TracedBranch } from '../trace-branch.ts';
import { type Carried, isWholeAtStart, leavesOf, setCarried } from './carried.ts';
import { noteCounted } from './counting-loops.ts';
import { expectNoneEarlier } from './earlier-iterations.ts';

/** A loop as traced with all values that it carries. */
interface TracedLoop {
  readonly frame: TraceFrame;
  readonly loop: Loop;
  readonly carried: ReadonlyMap<string, Carried>;
  /**
   * The region of the condition of a single-exit loop; other loops begin with flags that record where an iteration
   * ended.
   */
  readonly head: TracedBranch | null;
  readonly body: TracedBranch;
  /** The start of each carried operand, in the surrounding program. */
  readonly starts: readonly Tensor[];
  /** For each carried location, its leaves at the start and the end of this iteration. */
  readonly iterated: ReadonlyMap<string, Merged>;
  /** Leaves that are whole numbers before an iteration but not after it. */
  readonly fractional: ReadonlySet<string>;
  /** Indices of the leaves for which the loop also carries whether they require gradients. */
  readonly tracked: readonly number[];
}

/** Appends the loop as one op and sets the carried locations to its results. */
export function appendLoop(t: Tracer, traced: TracedLoop): PathEnd {
  const { frame, loop, carried, head, body, starts, iterated, tracked } = traced;
  const { region, end, disposed } = body;
  const { header } = loop;
  if (!head && end.targets.every((target) => target === header)) {
    throw new GraphBreak('unbounded-loop', 'a loop never ends');
  }
  const ends = t.inRegion(region, () =>
    [...carried.keys()].flatMap((key) =>
      iterated.get(key)!.leaves.map((leaf) => leafTensor(t, leaf, 1, t.device, disposed)),
    ),
  );
  const outputs = t.inRegion(region, () => [
    ...(head ? [] : flagsAt(t, end, loop)),
    ...ends,
    ...tracked.map((i) => requiresGradFlag(t, ends[i]!).tensor),
  ]);
  const heading = head ? head.region : new RegionBuilder(t.surroundings);
  if (!head) for (const start of starts) heading.give(start);
  const condition = head
    ? t.inRegion(heading, () => conditionAt(t, head.end))
    : heading.explicitInputs[0]!;
  expectNoLeavesInside(t, region, outputs);
  expectNoneEarlier(region, starts, outputs);
  region.captureAll(outputs);
  heading.captureAll([condition]);
  const captured = capturedByAny(t.builder, [heading, region]);
  const test = heading.finish(captured, [condition]);
  const iteration = region.finish(captured, outputs);
  const operands = [...starts, ...captured];
  const results = t.execution.appendControl(whileOp, operands, [test, iteration]);
  if (head) noteCounted(t, { operands, test, body: iteration, results });
  const { plans } = t.control;
  const why = () =>
    new GraphBreak('branch-gradient', 'a gradient of a gradient goes through its iterations');
  t.control.noteRegion(results, () => plans.unroll(frame.closure.code, loop, why()));
  const left = results.slice(flagCount(traced));
  noteRequired(t, traced, ends, left);
  const value = putBack(t, traced, left);
  if (head) return { targets: [head.end.targets[1]!], which: null, value };
  const [, which] = results;
  invariant(which, 'a loop returns where it ended');
  const targets = end.targets.filter((target) => target !== header);
  return { targets, which: { kind: 'scalar', type: 'number', tensor: which }, value };
}

/**
 * The number of flags at the front of the operands of a loop without a head: whether another iteration follows, and
 * where the body ended.
 */
function flagCount({ head }: TracedLoop): number {
  return head ? 0 : 2;
}

/** Records whether results require gradients, if that is determined at run time. */
function noteRequired(
  t: Tracer,
  traced: TracedLoop,
  ends: readonly Tensor[],
  results: readonly Tensor[],
): void {
  const { starts, tracked } = traced;
  const flags = flagCount(traced);
  const { explicitInputs } = traced.body.region;
  const kinds = [...leavesOf(traced.carried)].map(({ leaf }) => leaf.kind);
  const carried = ends.map((end, i) => {
    if (kinds[i] !== 'tensor') return null;
    return { start: starts[flags + i]!, input: explicitInputs[flags + i]!, end };
  });
  noteLoopResults(t, carried, results);
  for (const [k, i] of tracked.entries()) {
    const isOpen = requiresGradAlways(t, results[i]!) === null;
    if (isOpen) noteDecided(t, results[i]!, results[ends.length + k]!);
  }
}

/** Sets the locations to the results. Returns the returned value. */
function putBack(t: Tracer, traced: TracedLoop, results: readonly Tensor[]): Variable | null {
  const { carried, fractional, starts } = traced;
  const flags = flagCount(traced);
  for (const [i, each] of [...leavesOf(carried)].entries()) {
    if (isWholeAtStart(starts[flags + i]!, each, fractional)) noteWhole(results[i]!);
  }
  let index = 0;
  return setCarried(t, carried, (leaf) => leafVariable(t, leaf, results[index++]!));
}

function conditionAt(t: Tracer, { test }: PathEnd): Tensor {
  const { scalar, stays } = test!;
  return asTruth(t, stays ? scalar : (scalarUnary(t, '!', scalar) as DeviceScalar));
}

/** Returns whether another iteration follows, and where the body ended. */
function flagsAt(t: Tracer, end: PathEnd, { header }: Loop): Tensor[] {
  if (!end.which) {
    const again = reaches(end, header);
    const where = numberOf(end.targets[0]!);
    return [constantTensor(t, again, t.device), constantTensor(t, where, t.device)];
  }
  const { tensor } = end.which;
  return [t.runApi(() => eq(tensor, header)), tensor];
}
