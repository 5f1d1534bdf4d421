/** `backward()` and `grad()` inside a trace: the engine runs over the traced graph. */

import { expectHistory } from '../../../runtime/autograd/backward.ts';
import { runBackward } from '../../../runtime/autograd/engine.ts';
import { gradWith } from '../../../runtime/autograd/grad.ts';
import { enableGrad, noGrad } from '../../../runtime/autograd/grad-mode.ts';
import type { GradNode } from '../../../runtime/autograd/node.ts';
import { seedGradient } from '../../../runtime/autograd/seed-gradient.ts';
import { bind1 } from '../../../runtime/ops/bind.ts';
import { copy } from '../../../runtime/ops/copy.ts';
import { add_ } from '../../../runtime/ops/in-place.ts';
import { add } from '../../../runtime/ops/pointwise.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { isContiguousMeta } from '../../../runtime/tensor/meta.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { fillGradients } from '../../regions/fill-gradients.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { arrayElements, asArray } from '../arrays.ts';
import { resolved, settled } from '../choices.ts';
import { constantOf } from '../facts.ts';
import { readProperty } from '../properties.ts';
import type { Perform } from '../tape.ts';
import { readTensorProperty, writeTensorGrad } from '../tensor-properties.ts';
import type { Tracer } from '../tracer.ts';
import {
  known,
  newArray,
  type TensorVariable,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { isLeaf, mayBeSpentBelow, placesBelow } from './graph.ts';
import { expectLeaf, outerHooks, siteOf } from './hooks.ts';
import { gradientVariable, neededGradient } from './missing.ts';
import { asEagerly } from './refused.ts';

/**
 * `loss.backward(gradient, options)`: the backward ops become part of the program, and `.grad` of the
 * leaves is written after the run.
 */
export function traceBackward(
  t: Tracer,
  receiver: Variable | undefined,
  args: readonly Variable[],
): Variable {
  // A break on the way finds the graph as it was.
  return t.attempt(() => backwardInTrace(t, receiver, args));
}

function backwardInTrace(
  t: Tracer,
  receiver: Variable | undefined,
  [gradient, options]: readonly Variable[],
): Variable {
  if (receiver?.kind !== 'tensor') throw new GraphBreak('throw', 'backward() of no tensor');
  const createGraph = isSet(t, options, 'createGraph') ?? false;
  const retainGraph = isSet(t, options, 'retainGraph') ?? createGraph;
  const loss = t.use(receiver);
  const seed = gradient ? seedOf(t, gradient) : null;
  settleGradients(t, loss);
  const retained = t.autograd.retained.map((each) => t.use(each));
  const earlier = t.autograd.retained.map(({ grad }) => {
    const before = grad && resolved(grad);
    return before?.kind === 'tensor' ? t.use(before) : null;
  });
  const first = t.builder.nextValue;
  const onUndone = watchUndone(t);
  const run: Perform = ([root, start, handles, grads], builder) => {
    const [tensor, gradient] = [root as Tensor, start as Tensor | null];
    expectHistory('backward', tensor);
    const leaves: [Tensor, Tensor][] = [];
    const filled = withGradients(handles as Tensor[], grads as (Tensor | null)[], () => {
      const seedOwn = seedGradient('backward', tensor, seedValue(gradient, createGraph));
      watched(builder, { retainGraph, onUndone }, (watch) =>
        runBackward([{ tensor, gradient: seedOwn }], {
          ...watch,
          retainGraph: true,
          createGraph,
          sink: (place, sum) => {
            if ('leaf' in place) leaves.push([place.leaf, sum]);
          },
        }),
      );
    });
    return [leaves, filled];
  };
  const found = follow(t, [loss], [loss, seed, retained, earlier], run);
  const [leaves, filled] = found as [[Tensor, Tensor][], (Tensor | null)[]];
  for (const [i, variable] of [...t.autograd.retained].entries()) {
    if (filled[i] !== earlier[i]) writeTensorGrad(t, variable, gradientVariable(t, filled[i]!));
  }
  for (const [leaf, sum] of leaves) accumulate(t, t.result(leaf), sum, { first, createGraph });
  return undefinedVariable;
}

/** Of gradients that are there or not it is known which, before anything is added to them. */
function settleGradients(t: Tracer, loss: Tensor): void {
  for (const { grad } of t.autograd.retained) if (grad) settled(grad);
  for (const place of placesBelow(loss)) {
    if (isLeaf(place)) settled(readTensorProperty(t, t.result(place), 'grad'));
  }
}

/** `grad(outputs, inputs, options)` */
export function traceGrad(t: Tracer, args: readonly Variable[]): Variable {
  return t.attempt(() => gradInTrace(t, args));
}

function gradInTrace(t: Tracer, [outputs, inputs, options]: readonly Variable[]): Variable {
  if (!outputs || !inputs) throw new GraphBreak('throw', 'grad() of nothing');
  const createGraph = isSet(t, options, 'createGraph') ?? false;
  const retainGraph = isSet(t, options, 'retainGraph') ?? createGraph;
  const allowUnused = isSet(t, options, 'allowUnused') ?? false;
  const seeds = options ? seedsOf(t, readProperty(t, options, 'gradOutputs')) : null;
  const roots = tensorsOf(t, outputs);
  const onUndone = watchUndone(t);
  const run: Perform = ([of, to, given], builder) =>
    watched(builder, { retainGraph, onUndone }, (watch) => {
      const gradOutputs = (given as (Tensor | null)[] | null)?.map((seed) =>
        seedValue(seed, createGraph),
      );
      const own = { createGraph, retainGraph: true, allowUnused };
      const asked = gradOutputs ? { ...own, gradOutputs } : own;
      return gradWith(of as Tensor[], to as Tensor[], asked, watch);
    });
  const found = follow(t, roots, [roots, tensorsOf(t, inputs), seeds], run);
  const variableOf = allowUnused ? gradientVariable : neededGradient;
  return newArray(
    (found as (Tensor | null)[]).map((gradient) => {
      return gradient ? variableOf(t, gradient) : known(null);
    }),
  );
}

type Watch = NonNullable<Parameters<typeof gradWith>[3]>;

/** Nodes that are undone are used up, unless the graph is retained. */
function watched<T>(
  builder: ProgramBuilder,
  { retainGraph, onUndone }: { retainGraph: boolean; onUndone: OnUndone },
  run: (watch: Watch) => T,
): T {
  const undone: GradNode[] = [];
  const result = run({
    isConsumed: (node) => builder.spent.isSpent(node),
    onNode: (node, gradients) => {
      undone.push(node);
      fillGradients(builder, node, gradients);
    },
  });
  if (!retainGraph) {
    builder.spent.note(undone);
    onUndone(undone);
  }
  return result;
}

type OnUndone = (nodes: readonly GradNode[]) => void;

/** What a way has used up, nobody may ask a gradient of who doesn't know which way was taken. */
function watchUndone(t: Tracer): OnUndone {
  if (!t.isInRegion) return () => {};
  const site = siteOf(t, 'a branch or loop uses a graph up that is left to the caller');
  return (nodes) => {
    for (const node of nodes) t.autograd.watched.set(node, site);
  };
}

/** Where only the run knows whether an earlier backward has used the graph up, it is no part of a program. */
function expectUnspent(t: Tracer, roots: readonly Tensor[]): void {
  if (!roots.some((root) => mayBeSpentBelow(root, t.builder))) return;
  throw new GraphBreak(
    'gradient-of-ways',
    'backward() of a graph that a branch or loop may have used up',
  );
}

/** Runs the engine: again for other sizes, or once for all where it calls the user's hooks. */
function follow(
  t: Tracer,
  roots: readonly Tensor[],
  operands: readonly unknown[],
  run: Perform,
): unknown {
  expectUnspent(t, roots);
  const leaves = leavesBelow(t, roots);
  const hooked = leaves.flatMap(({ variable, tensor }) => {
    const hooks = outerHooks(t, variable);
    return hooks.length > 0 ? [{ tensor, hooks }] : [];
  });
  if (hooked.length === 0 && !t.autograd.callsUser) {
    return asEagerly(() => t.perform(operands, run));
  }
  for (const { tensor, hooks } of hooked) tensor.hooks = hooks;
  try {
    return asEagerly(() => t.attempt(() => t.runOnce(() => run(operands, t.builder))));
  } finally {
    for (const { tensor } of hooked) tensor.hooks = null;
  }
}

/** The outer tensors that gradients come to: none of them may lead further. */
function leavesBelow(
  t: Tracer,
  roots: readonly Tensor[],
): { readonly variable: TensorVariable; readonly tensor: Tensor }[] {
  const leaves = new Set<Tensor>();
  for (const root of roots)
    for (const place of placesBelow(root)) if (isLeaf(place)) leaves.add(place);
  return [...leaves].flatMap((tensor) => {
    const variable = t.result(tensor);
    if (!variable.source) return [];
    expectLeaf(t, variable);
    return [{ variable, tensor }];
  });
}

/** A value of its own, so that what is computed from it has no part in its history. */
function seedValue(seed: Tensor | null, createGraph: boolean): Tensor | null {
  if (!seed?.requiresGrad || createGraph) return seed;
  return noGrad(() => bind1(aliasOp, [seed]));
}

function withGradients(
  handles: readonly Tensor[],
  before: readonly (Tensor | null)[],
  body: () => void,
): (Tensor | null)[] {
  handles.forEach((handle, i) => {
    handle.grad = before[i]!;
  });
  try {
    body();
    return handles.map(({ grad }) => grad);
  } finally {
    for (const handle of handles) handle.grad = null;
  }
}

function seedOf(t: Tracer, variable: Variable): Tensor | null {
  if (variable.kind === 'tensor') return t.use(variable);
  const value = constantOf(t, variable);
  if (value === null || value === undefined) return null;
  throw new GraphBreak('throw', 'a gradient that is no tensor');
}

function seedsOf(t: Tracer, variable: Variable): (Tensor | null)[] | null {
  const array = asArray(t, variable);
  if (array) return arrayElements(t, array).map((element) => seedOf(t, element));
  const seed = seedOf(t, variable);
  return seed && [seed];
}

function tensorsOf(t: Tracer, variable: Variable): Tensor[] {
  const array = asArray(t, variable);
  return (array ? arrayElements(t, array) : [variable]).map((element) => {
    if (element.kind !== 'tensor') throw new GraphBreak('throw', 'grad() of no tensor');
    return t.use(element);
  });
}

function isSet(t: Tracer, options: Variable | undefined, key: string): boolean | undefined {
  if (!options || (options.kind === 'constant' && constantOf(t, options) === undefined)) {
    return undefined;
  }
  const value = constantOf(t, readProperty(t, options, key));
  return value === undefined ? undefined : Boolean(value);
}

interface Accumulation {
  /** The first value that this backward has made. */
  readonly first: ValueId;
  readonly createGraph: boolean;
}

function accumulate(
  t: Tracer,
  leaf: TensorVariable,
  gradient: Tensor,
  options: Accumulation,
): void {
  const earlier = resolved(readTensorProperty(t, leaf, 'grad'));
  if (earlier.kind !== 'tensor') {
    constantOf(t, earlier);
    writeTensorGrad(t, leaf, gradientVariable(t, ownMemory(t, gradient, options)));
    return;
  }
  const target = t.use(earlier);
  if (!options.createGraph) {
    asEagerly(() =>
      t.perform([target, gradient], ([sum, part]) =>
        noGrad(() => add_(sum as Tensor, part as Tensor)),
      ),
    );
    return;
  }
  // The sum has a history of its own.
  const sum = t.perform<Tensor>([target, gradient], ([before, part]) =>
    enableGrad(() => add(before as Tensor, part as Tensor)),
  );
  t.effects.dispose(earlier);
  t.gradients.add(t.builder.rootOf(sum));
  writeTensorGrad(t, leaf, t.result(sum));
}

/** `.grad` is written in place later: its memory must be its own, as in eager execution. */
function ownMemory(t: Tracer, gradient: Tensor, { first, createGraph }: Accumulation): Tensor {
  const root = t.builder.rootOf(gradient);
  const whole = t.perform<boolean>([gradient], ([part], builder) => {
    const tensor = part as Tensor;
    const isAll = tensor.size === builder.sizeOf(builder.rootOf(tensor));
    return isAll && isContiguousMeta(tensor) && !builder.isHandedThrough(tensor);
  });
  // What a recorded backward has saved of the gradient must not be written with it.
  if (whole && root >= first && !createGraph && !t.gradients.has(root)) {
    t.gradients.add(root);
    return gradient;
  }
  const mode = createGraph ? enableGrad : noGrad;
  const copied = t.perform<Tensor>([gradient], ([part]) =>
    mode(() => bind1(copy, [part as Tensor])),
  );
  t.gradients.add(t.builder.rootOf(copied));
  return copied;
}
