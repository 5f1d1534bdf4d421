/**
 * Whether tensors require gradients. If paths differ, the trace treats the result of a branch or loop as requiring
 * gradients; a device boolean, created on demand, is true if it does in eager execution.
 */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../../runtime/ops/core/bind.ts';
import { logicalOr } from '../../../../runtime/ops/pointwise/pointwise.ts';
import { aliasOp } from '../../../../runtime/program/alias-op.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { RegionBuilder } from '../../state/region-builder.ts';
import { never, type Requires, unknown } from '../../state/required-gradients.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { DeviceScalar } from '../../variables/variable.ts';
import { constantTensor } from '../numbers/scalars.ts';

/** Returns whether the tensor requires gradients on all paths or on none; null if it is data-dependent. */
export function requiresGradAlways(t: Tracer, tensor: Tensor): boolean | null {
  const requires = t.control.required.of(tensor);
  if (requires === true) return true;
  return requires.size === 0 ? false : null;
}

/** Returns the device boolean for a tensor that requires gradients on some paths only. */
export function requiresGradFlag(t: Tracer, tensor: Tensor): DeviceScalar {
  const flag = flagOf(t, t.control.required.of(tensor));
  return { kind: 'scalar', type: 'boolean', tensor: flag };
}

function flagOf(t: Tracer, requires: Requires): Tensor {
  if (requires === true) return constantTensor(t, true, t.device);
  const { plans } = t.control;
  if (!plans.tracksGradients && requires.size > 0) plans.enable('tracksGradients');
  const flags = [...requires].map((each) => {
    if (each !== unknown && each.dtype === 'bool') return each;
    const what = 'whether a tensor requires gradients, which calls before it have decided';
    throw new GraphBreak('branch-effect', what);
  });
  if (flags.length === 0) return constantTensor(t, false, t.device);
  return t.runApi(() => noGrad(() => flags.reduce((a, b) => logicalOr(a, b))));
}

const isEqual = (a: Requires, b: Requires): boolean => {
  if (a === true || b === true) return a === b;
  return a.size === b.size && [...a].every((each) => b.has(each));
};

/**
 * Returns the booleans that a branch must return besides its results, by path; empty if none are needed. `outputs`: the
 * results of each path; null for unused results, and for lists and tensors of data-dependent shape, which require
 * gradients once a value in them does.
 */
export function flagsOfBranch(
  t: Tracer,
  regions: readonly RegionBuilder[],
  outputs: readonly (readonly (Tensor | null)[])[],
): { readonly flags: readonly (readonly Tensor[])[]; note(results: readonly Tensor[]): void } {
  const { required, plans } = t.control;
  const count = outputs[0]!.length;
  const builders = new Set<unknown>(regions.map(({ builder }) => builder));
  // A boolean of a region can't be read outside it.
  const isInside = (requires: Requires): boolean =>
    requires !== true &&
    [...requires].some((each) => each !== unknown && builders.has(each.traced?.builder));
  const perResult = Array.from({ length: count }, (_, i) =>
    outputs.map((path) => (path[i] ? required.of(path[i]!) : null)),
  );
  const differing = perResult.flatMap((paths, i) => {
    const [first, ...others] = paths.filter((path) => path !== null);
    const isOne = !first || others.every((other) => isEqual(first, other));
    return isOne && !(first && isInside(first)) ? [] : [i];
  });
  const tracked = plans.tracksGradients ? differing : [];
  const flags = regions.map((region, path) =>
    t.inRegion(region, () => tracked.map((i) => flagOf(t, perResult[i]![path] ?? never))),
  );
  return {
    flags,
    note: (results) => {
      perResult.forEach((paths, i) => {
        const agreed = paths.find((path) => path !== null) ?? true;
        const kept = tracked.indexOf(i);
        const decided = kept < 0 ? unknown : results[count + kept]!;
        required.noteResult(results[i]!, differing.includes(i) ? new Set([decided]) : agreed);
      });
    },
  };
}

/** A loop-carried value: its initial value, and its values before and after an iteration in the body. */
interface CarriedGradient {
  readonly start: Tensor;
  readonly input: Tensor;
  readonly end: Tensor;
}

/**
 * Derives whether a loop's results require gradients from the initial values and from an iteration. Null for a
 * list or a tensor of data-dependent shape, which requires gradients once a value in it does.
 */
export function noteLoopResults(
  t: Tracer,
  carried: readonly (CarriedGradient | null)[],
  results: readonly Tensor[],
): void {
  const { required } = t.control;
  const known: Requires[] = carried.map((each) => (each ? required.of(each.start) : true));
  const after = (requires: Requires): Requires => {
    if (requires === true) return true;
    const below = [...requires].map((each): Requires => {
      const index = carried.findIndex((other) => other?.input === each);
      return index < 0 ? new Set([each]) : known[index]!;
    });
    if (below.includes(true)) return true;
    return new Set(below.flatMap((each) => [...(each as ReadonlySet<Tensor>)]));
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const [i, own] of carried.entries()) {
      if (!own) continue;
      const next = after(required.of(own.end));
      const before = known[i]!;
      if (isEqual(before, next) || isEqual(before, undecided)) continue;
      known[i] = undecided;
      changed = true;
    }
  }
  carried.forEach((_, i) => {
    required.noteResult(results[i]!, known[i]!);
  });
}

/** Records the boolean that a loop carried for one of its results. */
export function noteDecided(t: Tracer, result: Tensor, flag: Tensor): void {
  t.control.required.noteResult(result, new Set([flag]));
}

const undecided: Requires = new Set([unknown]);

/** Returns the same tensor, for runs in which eager execution records no graph for it. */
export function withoutGraph(t: Tracer, tensor: Tensor): Tensor {
  return t.perform<Tensor>([tensor], ([x]) =>
    noGrad(() => bind1(aliasOp, [x as Tensor], { same: true })),
  );
}
