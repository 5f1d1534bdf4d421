/** Backward through a program if its results are recorded, or if it receives gradients of such results. */

import { gradEnabled } from '../autograd/grad-mode.ts';
import { AutogradError } from '../errors/errors.ts';
import type {
  GradientProgram,
  GradientRequest,
  KeptAt,
} from '../program/higher-order-gradients.ts';
import type { ValueId } from '../program/program.ts';
import type { PassOutput, TakeSum, Target } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { BackwardVariant } from './backward/backward-variants.ts';
import type { RunProgramNode } from './grad-node.ts';
import { type Frame, slotOnPath } from './run-path.ts';
import { Slot } from './scope/scope.ts';

type Gradients = readonly (Tensor | null | undefined)[];

interface Application {
  readonly gradOutputs: Gradients;
  readonly retainGraph: boolean;
  readonly takeSum: TakeSum;
  readonly passInner: PassOutput | null;
}

/**
 * Performs a node's `apply` while gradients are recorded. Separate programs compute the gradients from the saved
 * forward values. Each of these values has a place in the graph: as an input or output, or under an additional index of
 * the node.
 */
export function applyRecorded(
  node: RunProgramNode,
  variant: BackwardVariant,
  { gradOutputs, retainGraph, takeSum, passInner }: Application,
): (Tensor | null)[] {
  const { subgraph, scope, results, path } = node;
  if (!subgraph.recorded) throw noCompiler();
  results.expectOpen(variant);
  const earlier = subgraph.continuedSums.flatMap(({ target }) => {
    const sum = takeSum(target);
    return sum ? [{ of: target, gradient: sum }] : [];
  });
  try {
    const brought = [...gradOutputs.entries()].flatMap(([of, gradient]) =>
      gradient ? [{ of, gradient }] : [],
    );
    const count = node.backward.gradOutputs.length;
    const ofOutputs = brought.filter(({ of }) => of < count);
    const ofValues = brought
      .filter(({ of }) => of >= count)
      .map(({ of, gradient }) => ({ of: of - count, gradient }));
    const recorded = gradEnabled();
    const described = (list: readonly { of: number; gradient: Tensor }[]) =>
      list.map(({ of, gradient }) => ({ of, recorded: recorded && gradient.requiresGrad }));
    const request: GradientRequest = {
      recorded,
      outputs: described(ofOutputs),
      values: described(ofValues),
      earlier: described(earlier),
      watched: passInner !== null,
      requested: requestedNumbers(variant),
      path: path?.taken ?? null,
    };
    const numbers = subgraph.numbersOf(scope);
    const backward = subgraph.recorded.at(request, numbers);
    const { program } = backward;
    const inner = innerOutputs(program);
    const kept = keptValues(node, program);
    try {
      expectKept(node, variant, program, kept.slots);
    } catch (error) {
      passComplete(node, gradOutputs, inner, passInner);
      throw error;
    }
    if (!retainGraph) {
      if (ofValues.length > 0) node.closeThrough(variant, ofValues);
      else results.choose(variant, false);
    }
    const passed = passFirst(node, gradOutputs, inner, passInner);
    const gradients = [
      ...ofOutputs.map(({ of }) => passed[of]!),
      ...ofValues.map(({ gradient }) => gradient),
      ...earlier.map(({ gradient }) => gradient),
    ];
    const placeOf = (id: ValueId) => placeIn(node, program, id);
    if (recorded) {
      node.isTapped = true;
      node.tappedValues = kept.values.length;
    }
    try {
      return backward.run({ ...kept, numbers, placeOf }, gradients, passInner);
    } catch (error) {
      // Without `retainGraph` the node can't run again.
      if (!retainGraph) node.consume();
      throw error;
    } finally {
      for (const gradient of passed) gradient?.dispose();
    }
  } finally {
    for (const { gradient } of earlier) gradient.dispose();
  }
}

/**
 * Passes inner output gradients that are already complete, given which gradients have arrived, before anything
 * runs. The engine leaves gradients of outputs that other outputs depend on to the node.
 */
export function passFirst(
  node: RunProgramNode,
  gradOutputs: Gradients,
  inner: ReadonlySet<number> | null,
  passInner: PassOutput | null,
): Gradients {
  const left = node.innerOutputs;
  if (!passInner || !left) return gradOutputs;
  const passed = [...gradOutputs];
  for (const i of node.hookOrder) {
    const gradient = passed[i];
    if (gradient && left.has(i) && !inner?.has(i)) passed[i] = passInner(i, gradient);
  }
  return passed;
}

/**
 * Passes the complete gradients of a node that rejects its backward: a result keeps its gradient, and its hooks
 * run, before the op that produced it throws.
 */
export function passComplete(
  node: RunProgramNode,
  gradOutputs: Gradients,
  inner: ReadonlySet<number> | null,
  passInner: PassOutput | null,
): void {
  const isOne = gradOutputs.filter((gradient) => gradient).length === 1;
  const passed = passFirst(node, gradOutputs, isOne ? null : inner, passInner);
  for (const gradient of passed) gradient?.dispose();
}

function requestedNumbers({ requested }: BackwardVariant): GradientRequest['requested'] {
  if (!requested) return null;
  const targets = [...requested.targets.keys()].filter((i) => requested.targets[i]);
  return { targets, outputs: [...requested.outputs] };
}

function innerOutputs({ parts }: GradientProgram): ReadonlySet<number> {
  return new Set(parts.flatMap(({ passes }) => passes?.numbers ?? []));
}

/** Returns the forward values in the program's numbering. */
function keptValues(
  { path, scope, subgraph, isSpent }: RunProgramNode,
  { onPath }: GradientProgram,
): Frame {
  if (!path || !onPath) return { slots: scope.slots, values: subgraph.values };
  const places = onPath.keptAt.map((all) => {
    const frames = all.map(({ frame, id }) => ({ frame: path.frames[frame]!, id }));
    return frames.find(({ frame, id }) => frame.slots[id]!.holder) ?? frames[0];
  });
  return {
    // Scopes released by a tape may already belong to other runs.
    slots: places.map((at) => (at && !isSpent ? slotOnPath(at.frame.slots[at.id]!) : new Slot())),
    values: places.map((at, id) => (at ? at.frame.values[at.id]! : onPath.values[id]!)),
  };
}

function expectKept(
  node: RunProgramNode,
  variant: BackwardVariant,
  { taken, onPath }: GradientProgram,
  slots: Frame['slots'],
): void {
  const keyOf = ({ frame, id }: KeptAt) => `${frame} ${id}`;
  const reads = new Set(
    [...taken].flatMap((id) => (onPath ? onPath.keptAt[id]! : [{ frame: 0, id }]).map(keyOf)),
  );
  node.expectUnchanged(variant, (at) => reads.has(keyOf(at)));
  for (const id of taken) if (!slots[id]!.holder) throw node.secondBackward(variant);
}

/** Returns the gradient target of a forward value. */
function placeIn(node: RunProgramNode, { onPath }: GradientProgram, id: ValueId): Target {
  const { inputs, outputs } = onPath ?? node.subgraph.planned.forward;
  const { gradOutputs, leafOutputs } = node.backward;
  const input = inputs.indexOf(id);
  if (input >= 0) return node.targets[input]!;
  const output = outputs.indexOf(id);
  const leaf = leafOutputs.indexOf(output);
  if (leaf >= 0) return node.targets[inputs.length + leaf]!;
  const isGiven = output >= 0 && gradOutputs[output] !== null;
  return { node, index: isGiven ? output : gradOutputs.length + id };
}

function noCompiler(): AutogradError {
  return new AutogradError({
    what: 'run_program: its gradient cannot be differentiated again',
    given: 'a backward with createGraph through a program that was loaded from a file',
    expected: 'a program of this process, whose backward can be differentiated',
    remedy: 'leave createGraph out, or capture the function here',
  });
}
