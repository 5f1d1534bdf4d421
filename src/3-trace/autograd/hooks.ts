/** Side effects of backward: user hooks, and retained gradients of op results. */

import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import { registerHook, retainGrad } from '../../../runtime/backward/hooks.ts';
import { InvariantError } from '../../../runtime/errors/invariant.ts';
import type { GradNode, HookEntry } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { expectOneTensor } from '../control-flow/merge/one-tensor.ts';
import type { Site } from '../state/autograd-state.ts';
import { breakAtSite, isDifferentiable, isLeaf, nodesBelow } from '../state/recorded-graph.ts';
import { asEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { arrayElements, asArray } from '../values/arrays.ts';
import { readProperty } from '../values/properties.ts';
import { isCallable } from '../values/to-primitive.ts';
import { specialized } from '../variables/unions.ts';
import {
  type NewObjectVariable,
  type TensorVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { expectTensor } from './expect-tensor.ts';
import { expectPresent } from './optional-gradient.ts';

/** `remove` of the handle of a hook registered in the trace; only the tracer performs it. */
export function removeHook(): void {
  throw new InvariantError('the handle of a hook has left its graph');
}

/** `x.registerHook(hook)` on an op result: a backward inside the trace traces the hook. */
export function traceRegisterHook(
  t: Tracer,
  receiver: Variable,
  [hook]: readonly Variable[],
): Variable {
  if (!hook || !isCallable(specialized(hook)))
    throw new GraphBreak('throw', 'registerHook() without a function');
  const { tensor } = inside(t, receiver, 'registerHook');
  const site = siteOf(t, 'a hook is called after the graph has ended');
  const handle = asEagerly(() =>
    t.runOnce(() => registerHook(tensor, (gradient) => callHook(t, hook, gradient))),
  );
  t.autograd.watched.set(placeOf(tensor), site);
  t.autograd.callsUser = true;
  const handleObject: NewObjectVariable = {
    kind: 'newObject',
    entries: new Map([['remove', { kind: 'function', value: removeHook, source: null }]]),
  };
  t.autograd.handles.set(handleObject, { handle, site });
  return handleObject;
}

export function traceRemoveHook(t: Tracer, receiver: Variable): Variable {
  const found = t.autograd.handles.get(receiver);
  if (!found) throw new GraphBreak('framework-call', 'remove() of a hook');
  if (t.control.depth > 0) {
    throw new GraphBreak('branch-effect', 'remove() of a hook in a branch or loop');
  }
  found.handle.remove();
  return undefinedVariable;
}

/** `x.retainGrad()` on an op result. */
export function traceRetainGrad(t: Tracer, receiver: Variable): Variable {
  const { variable, tensor } = inside(t, receiver, 'retainGrad');
  const site = siteOf(t, 'a gradient is kept after the graph has ended');
  asEagerly(() =>
    t.perform([tensor], ([handle]) => {
      retainGrad(handle as Tensor);
      return null;
    }),
  );
  if (!tensor.retainsGrad || variable.retainsGrad) return undefinedVariable;
  t.journal.keepList(t.autograd.retained);
  t.journal.set(variable, 'retainsGrad', true);
  t.autograd.retained.push(variable);
  t.autograd.watched.set(placeOf(tensor), site);
  return undefinedVariable;
}

function placeOf(tensor: Tensor): GradNode | Tensor {
  return tensor.gradEdge?.node ?? tensor.leaf;
}

function inside(t: Tracer, receiver: Variable, use: string) {
  const variable = expectTensor(receiver, use);
  expectOneTensor(t, variable);
  if (variable.source) throw new GraphBreak('framework-call', `${use}() on a pre-existing tensor`);
  if (t.control.depth > 0) throw new GraphBreak('branch-effect', `${use}() in a branch or loop`);
  return { variable, tensor: t.use(variable) };
}

/** Returns the current call. Breaks the graph if an earlier trace found that the call must run natively. */
export function siteOf(t: Tracer, why: string): Site {
  const { closure, pc } = t.top;
  if (t.control.plans.has('break', closure.code, pc)) throw new GraphBreak('framework-call', why);
  return { code: closure.code, pc };
}

/** Requires that no gradient which the caller may request flows through nodes known only to this trace. */
export function expectKnown(
  t: Tracer,
  outputs: readonly Tensor[],
  created: Iterable<Variable>,
): void {
  const { watched, handles } = t.autograd;
  for (const variable of handles.size > 0 ? created : []) {
    const handle = handles.get(variable);
    if (handle) t.control.plans.restartWith('break', handle.site.code, handle.site.pc);
  }
  if (watched.size === 0) return;
  for (const output of outputs) {
    if (output.requiresGrad && output.isLeaf) breakAtSite(t, output);
    if (!isDifferentiable(output, t.builder)) continue;
    let leadsToLeaf = false;
    for (const node of nodesBelow(output)) {
      breakAtSite(t, node);
      leadsToLeaf ||= isLeaf(node);
    }
    // The output was overwritten completely: only this trace knows that it had a history before.
    if (!leadsToLeaf) for (const node of watched.keys()) breakAtSite(t, node);
  }
}

function callHook(t: Tracer, hook: Variable, gradient: Tensor): Tensor | null {
  expectPresent(t, gradient);
  const result = t.execution.callInside(
    hook,
    undefinedVariable,
    [t.result(gradient)],
    gradEnabled(),
  );
  if (result.kind === 'tensor') return t.use(result);
  const value = constantOf(t, result);
  if (value === undefined || value === null) return null;
  throw new GraphBreak('throw', 'a gradient hook returns no tensor');
}

/** Requires that the outer tensor is a leaf, so that no gradient flows beyond it. */
export function expectLeaf(t: Tracer, { source, actual }: TensorVariable): void {
  if (!actual!.isLeaf) {
    throw new GraphBreak(
      'framework-call',
      'backward() into a graph recorded before this part of the function',
    );
  }
  if (actual!.hooks?.length) {
    constantOf(t, t.read({ kind: 'property', base: source!, key: 'isLeaf' }, true));
  } else t.guard(`leaf ${sourceKey(source!)}`, { kind: 'leaf', source: source! });
}

/** Returns the hooks of an outer leaf as functions that trace them. */
export function outerHooks(t: Tracer, { source, actual }: TensorVariable): HookEntry[] {
  const { hooks } = actual!;
  if (!hooks?.length) return [];
  const list = asArray(t, t.read({ kind: 'property', base: source!, key: 'hooks' }, hooks));
  if (!list) throw new GraphBreak('framework-call', 'backward() with hooks');
  return arrayElements(t, list).map((entry) => {
    const hook = readProperty(t, entry, 'run');
    return { run: (gradient) => callHook(t, hook, gradient) };
  });
}
