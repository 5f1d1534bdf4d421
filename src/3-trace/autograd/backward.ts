/** `backward()` inside a trace: the engine runs over the traced graph. */

import { edgesOf, expectHistory } from '../../../runtime/backward/backward.ts';
import { runBackward } from '../../../runtime/backward/engine.ts';
import { seedGradient } from '../../../runtime/backward/seed-gradient.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { isPlainObject } from '../../guards/plain.ts';
import { ControlNode } from '../../regions/control-node.ts';
import { gradientNames } from '../../regions/gradient-names.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { noteRequest } from '../control-flow/loops/earlier-iterations.ts';
import { requiresGradAlways, requiresGradFlag } from '../control-flow/merge/requires-grad.ts';
import { check } from '../control-flow/numbers/check.ts';
import { isLeaf, nodesBelow } from '../state/recorded-graph.ts';
import type { Perform } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import { isUndefined } from '../state/value-guards.ts';
import { arrayElements, asArray } from '../values/arrays.ts';
import { readProperty } from '../values/properties.ts';
import { readTensorProperty } from '../values/tensor-properties.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { specialized } from '../variables/unions.ts';
import { prototypeOf, undefinedVariable, type Variable } from '../variables/variable.ts';
import { accumulate } from './accumulate.ts';
import { expectTarget, expectTensor } from './expect-tensor.ts';
import { traceRetainGrad } from './hooks.ts';
import { flagsOf, seedOf, seedValue } from './options.ts';
import { traceRetaining } from './retained.ts';
import { watched, watchFreed } from './trace-backward.ts';

/**
 * `loss.backward(gradient, options)`. The backward ops become part of the program; `.grad` of the leaves is
 * written after the run.
 */
export function traceBackward(
  t: Tracer,
  receiver: Variable | undefined,
  args: readonly Variable[],
): Variable {
  // A graph break during the walk leaves the autograd graph unchanged.
  return t.attempt(() => backwardInTrace(t, receiver, args));
}

function backwardInTrace(
  t: Tracer,
  receiver: Variable | undefined,
  args: readonly Variable[],
): Variable {
  const [gradient, options] = isOnlyOptions(t, args) ? [undefined, args[0]] : args;
  const root = expectTensor(receiver, 'backward');
  const flags = flagsOf(t, 'backward', options, ['createGraph', 'retainGraph'], ['inputs']);
  const { createGraph = false, retainGraph = createGraph } = flags;
  const loss = t.use(root);
  if (requiresGradAlways(t, loss) === null) {
    // Eager execution rejects a loss that has no graph.
    check(t, requiresGradFlag(t, loss).tensor, true);
  }
  const seed = gradient ? seedOf(t, gradient) : null;
  const inputs = options ? inputsOf(t, options) : null;
  if (inputs) noteRequest([loss], inputs);
  const earlier = settleGradients(t, loss);
  if (!createGraph) expectNotReadInside(t, loss, earlier);
  const first = t.builder.nextValue;
  const onFreed = watchFreed(t);
  const run: Perform<[Tensor, Tensor][]> = ([root, start, only], builder) => {
    const [tensor, gradient] = [root as Tensor, start as Tensor | null];
    const requested = only ? edgesOf('backward', only as Tensor[]) : undefined;
    expectHistory('backward', tensor);
    const leaves: [Tensor, Tensor][] = [];
    const seedOwn = seedGradient('backward', tensor, seedValue(gradient, createGraph));
    watched(builder, { retainGraph, onFreed }, (watch) =>
      runBackward([{ tensor, gradient: seedOwn }], {
        ...watch,
        names: gradientNames([{ tensor }]),
        retainGraph: true,
        createGraph,
        ...(requested && { inputs: requested }),
        sink: (edge, sum) => {
          if (!('leaf' in edge)) {
            sum.dispose();
            return;
          }
          leaves.push([edge.leaf, sum]);
          // Eager execution adds to `.grad` here: later nodes must not read what it was.
          const written = createGraph ? undefined : earlier.get(edge.leaf);
          if (!written) return;
          builder.memory.noteWrite(builder.valueOf(written));
          t.autograd.hasAdded = true;
        },
      }),
    );
    return leaves;
  };
  const leaves = traceRetaining(t, [loss], [loss, seed, inputs], run);
  for (const [leaf, sum] of leaves) accumulate(t, t.result(leaf), sum, { first, createGraph });
  return undefinedVariable;
}

/** Whether the only argument is a plain object. */
function isOnlyOptions(t: Tracer, [first, second]: readonly Variable[]): boolean {
  if (!first || (second && !isUndefined(t, second))) return false;
  const argument = specialized(first);
  if (argument.kind === 'newObject') return !prototypeOf(argument);
  return argument.kind === 'object' && isPlainObject(argument.value);
}

/** Returns the tensors of `{ inputs }`; null for all leaves. Op results among them retain their gradients. */
function inputsOf(t: Tracer, options: Variable): Tensor[] | null {
  const argument = specialized(options);
  if (argument.kind === 'constant') return null;
  const inputs = specialized(readProperty(t, argument, 'inputs'));
  if (isPrimitiveVariable(inputs) && isUndefined(t, inputs)) return null;
  const array = asArray(t, inputs);
  return (array ? arrayElements(t, array) : [inputs]).map((element) => {
    const input = expectTarget(t, element, 'backward');
    const tensor = t.use(input);
    // An outer op result has a pre-existing graph, which the walk rejects. The recorded graph shows whether other
    // tensors are results.
    if (!input.source && tensor.requiresGrad) traceRetainGrad(t, input);
    return tensor;
  });
}

/**
 * Determines which optional gradients of leaves exist, before anything is added to them, and returns those. A replay for
 * other sizes has other leaves and notes no writes, but the same graph, so it would fail where the first trace does.
 */
function settleGradients(t: Tracer, loss: Tensor): ReadonlyMap<Tensor, Tensor> {
  const found = new Map<Tensor, Tensor>();
  for (const edge of nodesBelow(loss)) {
    if (!isLeaf(edge)) continue;
    const variable = t.result(edge);
    // A loop-carried value is not a leaf in eager execution: its .grad is not read.
    if (!variable.source && !variable.grad) continue;
    const grad = specialized(readTensorProperty(t, variable, 'grad'));
    if (grad.kind === 'tensor') found.set(edge, t.use(grad));
  }
  return found;
}

/**
 * A branch or loop delivers the gradients of its operands together, where eager execution adds to `.grad` between its
 * ops. If one of them reads what is added to, the backward isn't part of the trace.
 */
function expectNotReadInside(t: Tracer, loss: Tensor, earlier: ReadonlyMap<Tensor, Tensor>): void {
  if (earlier.size === 0) return;
  for (const node of nodesBelow(loss)) {
    if (!(node instanceof ControlNode)) continue;
    const read = node.read.map((tensor) => t.builder.rootOf(tensor));
    for (const target of node.targets) {
      const sum = target && 'leaf' in target && earlier.get(target.leaf);
      if (!sum || !read.includes(t.builder.rootOf(sum))) continue;
      t.control.avoid(node);
      throw new GraphBreak(
        'branch-gradient',
        'backward() through a branch or loop that reads the gradient of an operand',
      );
    }
  }
}
