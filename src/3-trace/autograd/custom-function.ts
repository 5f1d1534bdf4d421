import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import {
  applyRules,
  type FunctionContext,
  rulesOf,
} from '../../../runtime/backward/custom-function.ts';
import { InvariantError } from '../../../runtime/errors/invariant.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { containedIn } from '../control-flow/locations/contained-variables.ts';
import { asEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { arrayElements, asArray } from '../values/arrays.ts';
import { readProperty } from '../values/properties.ts';
import {
  known,
  type NewObjectVariable,
  newArray,
  type ObjectVariable,
  type TensorVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { siteOf } from './hooks.ts';
import { expectPresent } from './optional-gradient.ts';

/** `ctx.saveForBackward` inside a trace; only the tracer performs it. */
export function saveForBackward(): void {
  throw new InvariantError('the context of a custom function has left its graph');
}

export function traceSaveForBackward(
  t: Tracer,
  receiver: Variable,
  args: readonly Variable[],
): Variable {
  const tensors = args.map((arg) =>
    tensorOf(t, arg, 'saveForBackward() of something other than a tensor'),
  );
  t.journal.keepMap(t.autograd.saved);
  t.autograd.saved.set(receiver, tensors);
  return undefinedVariable;
}

/**
 * Traces a call of a `customFunction`: the runtime's own implementation runs with a traced forward and backward.
 * If its gradient is requested after the trace, the call runs natively.
 */
export function traceCustomFunction(
  t: Tracer,
  fn: (...args: never[]) => unknown,
  args: readonly Variable[],
): Variable {
  const rules = rulesOf(fn)!;
  const site = siteOf(t, 'a custom function whose gradient is asked for after the graph has ended');
  const source = { kind: 'held', value: rules, name: 'a custom function' } as const;
  const rulesObject: ObjectVariable = { kind: 'object', value: rules, source };
  const [forward, backward] = [
    readProperty(t, rulesObject, 'forward'),
    readProperty(t, rulesObject, 'backward'),
  ];
  const context = newContext();
  const traceRule = (rule: Variable, args: readonly Variable[]) =>
    t.execution.callInside(rule, rulesObject, [context, ...args], gradEnabled());

  let keepsTraced = false;
  const traced = {
    ...(rules.name === undefined ? {} : { name: rules.name }),
    forward: (ctx: FunctionContext, ..._inputs: readonly unknown[]) => {
      context.entries.set('needsInputGrad', newArray(ctx.needsInputGrad.map(known)));
      const result = outputsOf(t, traceRule(forward, args));
      ctx.saveForBackward(...(t.autograd.saved.get(context) ?? []));
      const tensors = [result].flat();
      keepsTraced = tensorsPutInto(context).some(
        (each) => !each.source && !args.includes(each) && !tensors.includes(t.use(each)),
      );
      return result;
    },
    backward: (ctx: FunctionContext, ...gradients: Tensor[]) => {
      const saved = ctx.savedTensors.map((tensor) => t.result(tensor));
      context.entries.set('savedTensors', newArray(saved));
      for (const gradient of gradients) expectPresent(t, gradient);
      const variables = gradients.map((gradient) => t.result(gradient));
      return gradientsOf(t, traceRule(backward, variables));
    },
  };
  // Arguments that are not tensors are visible to `forward` only.
  const inputs = args.map((arg) => (arg.kind === 'tensor' ? t.use(arg) : arg));
  const outputs = asEagerly(() =>
    t.attempt(() => t.runOnce(() => applyRules(traced, inputs, () => keepsTraced))),
  );
  const tensors = outputs instanceof Tensor ? [outputs] : outputs;
  for (const { gradEdge } of tensors) {
    if (gradEdge) watch(t, gradEdge.node, site);
  }
  return outputs instanceof Tensor
    ? t.result(outputs)
    : newArray(outputs.map((output) => t.result(output)));
}

/** Returns the tensors in an object, in its arrays and plain objects. */
function tensorsPutInto(object: NewObjectVariable): readonly TensorVariable[] {
  const seen = new Set<Variable>();
  const found: TensorVariable[] = [];
  const visit = (variable: Variable | null): void => {
    if (!variable || seen.has(variable)) return;
    seen.add(variable);
    if (variable.kind === 'tensor') found.push(variable);
    else if (variable.kind === 'newArray' || variable.kind === 'newObject') {
      containedIn(variable).forEach(visit);
    }
  };
  visit(object);
  return found;
}

function watch(t: Tracer, node: GradNode, site: ReturnType<typeof siteOf>): void {
  t.autograd.watched.set(node, site);
  if (t.isInRegion) t.autograd.functionsInside.set(node, t.builder);
  t.autograd.callsUser = true;
}

function newContext(): NewObjectVariable {
  return {
    kind: 'newObject',
    entries: new Map<string, Variable>([
      ['needsInputGrad', newArray([])],
      ['savedTensors', newArray([])],
      ['saveForBackward', { kind: 'function', value: saveForBackward, source: null }],
    ]),
  };
}

function outputsOf(t: Tracer, result: Variable): Tensor | Tensor[] {
  const why = 'a custom function that returns no tensor';
  const list = asArray(t, result);
  if (!list) return tensorOf(t, result, why);
  return arrayElements(t, list).map((each) => tensorOf(t, each, why));
}

function gradientsOf(t: Tracer, result: Variable): Tensor | null | (Tensor | null)[] {
  const one = (each: Variable): Tensor | null => {
    if (each.kind === 'tensor') return t.use(each);
    if (constantOf(t, each) === null) return null;
    throw new GraphBreak('throw', 'a gradient of a custom function that is not a tensor');
  };
  const list = asArray(t, result);
  return list ? arrayElements(t, list).map(one) : one(result);
}

function tensorOf(t: Tracer, variable: Variable, why: string): Tensor {
  if (variable.kind === 'tensor') return t.use(variable);
  throw new GraphBreak('throw', why);
}
