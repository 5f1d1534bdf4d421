/** Functions of tostatic that act on more than their arguments, as the tracer performs them. */

import { checkpoint } from '../../runtime/autograd/checkpoint.ts';
import { runBackward } from '../../runtime/autograd/engine.ts';
import { enableGrad, noGrad } from '../../runtime/autograd/grad-mode.ts';
import { seedGradient } from '../../runtime/autograd/seed-gradient.ts';
import { currentDevice, deviceGuard, deviceNamed } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { bind1 } from '../../runtime/ops/bind.ts';
import { copy } from '../../runtime/ops/copy.ts';
import { add_ } from '../../runtime/ops/in-place.ts';
import { permute } from '../../runtime/ops/movement.ts';
import { span } from '../../runtime/profiler/profiler.ts';
import { keep, tidy } from '../../runtime/tensor/lifetime.ts';
import { isContiguousMeta } from '../../runtime/tensor/meta.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { sourceKey } from '../guards/source-key.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { constantOf } from './facts.ts';
import { readProperty } from './properties.ts';
import { readTensorProperty, writeTensorGrad } from './tensor-properties.ts';
import type { Tracer } from './tracer.ts';
import { type TensorVariable, undefinedVariable, type Variable } from './variable.ts';

type Callable = (...args: never[]) => unknown;

/** Functions that call their argument at once, and what gradient mode holds in it (null: as outside). */
const scoped = new Map<unknown, boolean | null>([
  [noGrad, false],
  [enableGrad, true],
  // Inside captured code lifetimes come from liveness: there is nothing to tidy.
  [tidy, null],
]);

/** `deviceGuard(device, body)` where that device is the current one, or `profiler.span(name, body)`: the body alone. */
export function guardedBody(t: Tracer, fn: Callable, args: readonly Variable[]): Variable | null {
  const called: unknown = fn;
  // A stretch of a program is no stretch of time: its ops run in the order of the plan.
  if (called === span) return args[1] ?? null;
  if (called !== deviceGuard) return null;
  const [place, body] = args;
  const device = place && deviceOf(t, place);
  if (!body || device !== currentDevice()) {
    throw new GraphBreak('framework-call', 'deviceGuard() of another device');
  }
  t.guardDevice();
  return body;
}

function deviceOf(t: Tracer, place: Variable): Device | undefined {
  if (place.kind === 'constant') {
    const name = constantOf(t, place);
    return typeof name === 'string' ? deviceNamed(name) : undefined;
  }
  if (place.kind !== 'object') return undefined;
  const { source, value } = place;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  return value as Device;
}

/** The gradient mode in which `fn` calls its argument; undefined when it does no such thing. */
export function scopedMode(fn: Callable): boolean | null | undefined {
  return scoped.get(fn);
}

/** The result of a framework call that the tracer performs itself; undefined for any other function. */
export function callFramework(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const called: unknown = fn;
  if (called === keep) return args[0];
  if (called === Tensor.prototype.backward) return traceBackward(t, receiver, args);
  if (called === checkpoint) return traceCheckpoint(t, args);
  if (called === Tensor.prototype.dispose) return traceDispose(t, receiver);
  if (called === Tensor.prototype.detach) return traceDetach(t, receiver);
  return undefined;
}

/** A handle of its own on the same memory: in a program that is a view of everything. */
function traceDetach(t: Tracer, receiver: Variable): Variable {
  if (receiver.kind !== 'tensor') throw new GraphBreak('throw', 'detach() of no tensor');
  const x = t.use(receiver);
  const dims = x.shape.map((_, dim) => dim);
  return t.result(
    t.perform<Tensor>([x], ([operand]) => noGrad(() => permute(operand as Tensor, dims))),
  );
}

/**
 * `checkpoint(body, …inputs)`: the runtime's own, over a body that is followed by the tracer. A backward
 * inside the trace then follows it again, and computes what was not kept a second time.
 */
function traceCheckpoint(t: Tracer, [body, ...inputs]: readonly Variable[]): Variable {
  if (!body) throw new GraphBreak('throw', 'checkpoint() of nothing');
  if (!inputs.every(({ kind }) => kind === 'tensor' || kind === 'constant')) {
    throw new GraphBreak('framework-call', 'checkpoint() of more than tensors');
  }
  const values = inputs.map((input) =>
    input.kind === 'tensor' ? t.use(input) : constantOf(t, input),
  );
  return t.attempt(() => {
    const result = t.runApi(() =>
      checkpoint(
        (...given) => {
          const args = given.map((value, i) =>
            value instanceof Tensor ? t.result(value) : inputs[i]!,
          );
          const output = t.execution.callInside(body, undefinedVariable, args);
          if (output.kind !== 'tensor') {
            throw new GraphBreak('framework-call', 'checkpoint() of what answers no tensor');
          }
          return t.use(output);
        },
        ...values,
      ),
    );
    return t.result(result);
  });
}

/** It happens after the run, where somebody can still see the tensor. */
function traceDispose(t: Tracer, receiver: Variable): Variable {
  if (receiver.kind !== 'tensor') throw new GraphBreak('throw', 'dispose() of no tensor');
  t.effects.dispose(receiver);
  return undefinedVariable;
}

/**
 * `loss.backward()`: the engine runs over the traced graph, so the backward ops become part of the
 * program, and `.grad` of the leaves is written after the run.
 */
function traceBackward(t: Tracer, receiver: Variable, args: readonly Variable[]): Variable {
  if (receiver.kind !== 'tensor') throw new GraphBreak('throw', 'backward() of no tensor');
  const [gradient, options] = args;
  const retainGraph = options ? constantOf(t, readProperty(t, options, 'retainGraph')) : false;
  if (options && constantOf(t, readProperty(t, options, 'createGraph'))) {
    throw new GraphBreak('framework-call', 'backward() with createGraph');
  }
  refuseOuterGraph(t);
  const output = t.use(receiver);
  const given = gradient?.kind === 'tensor' ? t.use(gradient) : null;
  if (!output.requiresGrad) throw new GraphBreak('op-error', 'backward() without a graph');
  const found = t.perform<[Tensor, Tensor][]>([output, given], ([loss, seed]) => {
    const tensor = loss as Tensor;
    const gradients: [Tensor, Tensor][] = [];
    runBackward([{ tensor, gradient: seedGradient('backward', tensor, seed as Tensor | null) }], {
      retainGraph: Boolean(retainGraph),
      sink: (place, sum) => {
        if ('leaf' in place) gradients.push([place.leaf, sum]);
      },
    });
    return gradients;
  });
  for (const [leaf, sum] of found) accumulate(t, t.result(leaf), sum);
  return undefinedVariable;
}

/** Gradients would flow on into a graph that was recorded before, or call the user's hooks. */
function refuseOuterGraph(t: Tracer): void {
  for (const { tensor } of t.inputs) {
    const { actual } = t.result(tensor);
    if (!actual?.requiresGrad) continue;
    if (!actual.isLeaf) {
      throw new GraphBreak('framework-call', 'backward() into a graph from outside the function');
    }
    if (actual.hooks?.length || actual.retainsGrad)
      throw new GraphBreak('framework-call', 'backward() with hooks');
  }
}

function accumulate(t: Tracer, leaf: TensorVariable, gradient: Tensor): void {
  const earlier = readTensorProperty(t, leaf, 'grad');
  if (earlier.kind === 'tensor') {
    const target = t.use(earlier);
    t.perform([target, gradient], ([sum, part]) =>
      noGrad(() => add_(sum as Tensor, part as Tensor)),
    );
    return;
  }
  constantOf(t, earlier);
  writeTensorGrad(t, leaf, t.result(ownMemory(t, gradient)));
}

/** `.grad` is written in place later: its memory must be its own, as in eager execution. */
function ownMemory(t: Tracer, gradient: Tensor): Tensor {
  const root = t.builder.rootOf(gradient);
  const whole = t.perform<boolean>([gradient], ([part], builder) => {
    const tensor = part as Tensor;
    return tensor.size === builder.sizeOf(builder.rootOf(tensor)) && isContiguousMeta(tensor);
  });
  if (whole && !t.builder.isInput(root) && !t.gradients.has(root)) {
    t.gradients.add(root);
    return gradient;
  }
  const copied = t.perform<Tensor>([gradient], ([part]) =>
    noGrad(() => bind1(copy, [part as Tensor])),
  );
  t.gradients.add(t.builder.rootOf(copied));
  return copied;
}
