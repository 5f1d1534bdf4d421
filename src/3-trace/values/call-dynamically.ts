/** Tensor API calls on tensors of data-dependent shape, or with device scalars that determine a shape. */

import { gradEnabled, noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { contiguousMeta, type TensorSpec } from '../../../runtime/device/tensor-meta.ts';
import { toBeLeaf } from '../../../runtime/ops/core/creation-options.ts';
import { ShapeDependsOnData } from '../../../runtime/ops/indexing/data-dependent.ts';
import { full } from '../../../runtime/ops/movement/create.ts';
import { contiguous } from '../../../runtime/ops/movement/movement.ts';
import { listSpec } from '../../../runtime/program/list-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { CallSite } from '../../regions/site-call.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { growableIn, isGrowable } from '../control-flow/lists/growable-array.ts';
import { growableArray, unknownLength } from '../control-flow/lists/list-elements.ts';
import { numberAmong } from '../control-flow/numbers/keyword-numbers.ts';
import { decidesShape, takesOperands } from '../control-flow/numbers/scalar-arguments.ts';
import { asNumber, scalarOperand } from '../control-flow/numbers/scalars.ts';
import { CallOperands } from '../dynamic-shapes/call-operands.ts';
import { DrawsNumbers } from '../dynamic-shapes/call-stream.ts';
import { elementOf, type Trial, trialsOf } from '../dynamic-shapes/call-trials.ts';
import { computingSizes, hasKnownSizes, withSizes } from '../dynamic-shapes/data-sizes.ts';
import { plannedAgain, plannedCall, uniformCount } from '../dynamic-shapes/planned-call.ts';
import {
  type OperandPlace,
  performing,
  placed,
  type TracedCall,
} from '../dynamic-shapes/traced-call.ts';
import { written } from '../dynamic-shapes/writes.ts';
import { DeferredNumber } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, passedDevice } from '../state/value-guards.ts';
import { sampleRuns } from '../variables/sample-numbers.ts';
import { resolved, specialized } from '../variables/unions.ts';
import { type DeviceScalar, newArray, prototypeOf, type Variable } from '../variables/variable.ts';
import { arrayElements, asArray } from './arrays.ts';

type Callable = (...args: never[]) => unknown;

/**
 * Returns undefined for calls whose shapes are known. `opened`: replaces a pre-existing options object by its
 * entries.
 */
export function callDynamically(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
  opened: (arg: Variable) => Variable = (arg) => arg,
): Variable | undefined {
  if (t.control.policy !== 'always') return undefined;
  const takes = takesOperands(fn);
  const isOne = (value: Variable): boolean => {
    const variable = resolved(value);
    if (variable.kind === 'dynamic' || growableIn(t, variable)) return true;
    if (variable.kind !== 'newArray') return false;
    const { extended } = variable;
    const parts = extended ? [...extended.preceding, ...extended.appended] : variable.elements;
    return parts.some((each) => isOne(each) || isNumber(each));
  };
  const isNumber = (variable: Variable): boolean =>
    (!takes && resolved(variable).kind === 'scalar') || numberAmong(variable) !== undefined;
  if (![receiver, ...args].some(isOne) && !args.some(isNumber)) return undefined;
  const openedArgs = args.map(opened);
  return written(t, fn, receiver, (called, from) => {
    try {
      return new Call(t, called, takes).trace(from, openedArgs);
    } catch (error) {
      if (!(error instanceof ShapeDependsOnData)) throw error;
      return tracedWithDataSizes(t, called, from, openedArgs, error);
    }
  });
}

/**
 * Appends a call whose results have sizes that are read from tensors: the program computes these numbers, which
 * determine the shapes of a second call. `error`: thrown for the call by itself.
 */
export function callWithDataSizes(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
  error: ShapeDependsOnData,
): Variable {
  if (t.control.policy !== 'always') throw readsSize(error);
  return written(t, fn, receiver, (called, from) =>
    tracedWithDataSizes(t, called, from, args, error),
  );
}

function tracedWithDataSizes(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
  error: ShapeDependsOnData,
): Variable {
  try {
    const found = hasKnownSizes(fn) ? [] : sizesFound(t, fn, receiver, args);
    return new Call(t, withSizes(fn), false).trace(receiver, [newArray(found), ...args]);
  } catch (thrown) {
    if (!(thrown instanceof ShapeDependsOnData)) throw thrown;
    throw readsSize(error);
  }
}

function readsSize({ op }: ShapeDependsOnData): GraphBreak {
  return new GraphBreak('data-size', `the size of the result of ${op}() depends on data`);
}

function sizesFound(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
): Variable[] {
  let least = Number.POSITIVE_INFINITY;
  const computing = computingSizes(fn, (bound) => {
    least = Math.min(least, bound);
  });
  const found = new Call(t, computing, false).trace(receiver, args);
  const { samples } = t.control;
  return arrayElements(t, asArray(t, found)!).map((each): Variable => {
    if (each.kind !== 'tensor') return each;
    const tensor = t.use(each);
    const isNumber = tensor.rank === 0 && tensor.dtype === 'float64';
    if (!isNumber) return each;
    // With smaller samples, other code would reject sizes that no run has, such as counts that fill a matrix.
    if (least > 0 && least < Number.POSITIVE_INFINITY) {
      samples.note(
        tensor,
        samples.next().map((size) => least + size),
      );
    }
    return { kind: 'scalar', type: 'number', tensor };
  });
}

/**
 * Appends a call with device scalars of a function that takes no tensors: each run calls it with its own numbers.
 */
export function callWithNumbers(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const number = args.map(resolved).find((arg): arg is DeviceScalar => arg.kind === 'scalar');
  if (!number) return undefined;
  if (t.control.policy !== 'always' || fn.name.endsWith('_')) throw decidesShape(fn.name, number);
  return new Call(t, fn, false).trace(receiver, args);
}

/** A call that is being appended to the program. */
class Call {
  readonly #t: Tracer;
  readonly #fn: Callable;
  /** True if numbers, apart from options, are operands like tensors and determine no shape. */
  readonly #takesNumbers: boolean;
  readonly #operands = new CallOperands();
  /** The original tensors of operands that are contiguous copies. */
  readonly #originals = new Map<Tensor, Tensor>();
  #like: Tensor | undefined;

  constructor(t: Tracer, fn: Callable, takesNumbers: boolean) {
    this.#t = t;
    this.#fn = fn;
    this.#takesNumbers = takesNumbers;
  }

  trace(receiver: Variable, args: readonly Variable[]): Variable {
    const t = this.#t;
    const variables = [receiver, ...args].map(resolved);
    const like = variables.find((each) => each.kind === 'tensor' || each.kind === 'dynamic');
    this.#like =
      like &&
      (like.kind === 'tensor' ? t.use(like) : like.kind === 'dynamic' ? like.tensor : undefined);
    const isMethod = receiver.kind === 'tensor' || receiver.kind === 'dynamic';
    const self = isMethod ? this.#value(receiver) : undefined;
    const values = args.map((arg) => this.#value(arg));
    const call = this.#fn as (...args: unknown[]) => unknown;
    const traced: TracedCall = {
      name: this.#fn.name,
      forms: this.#operands.forms,
      metas: this.#operands.metas,
      call: (operands) =>
        Reflect.apply(
          call,
          placed(self, operands),
          values.map((value) => placed(value, operands)),
        ),
      gradMode: t.top.gradMode ?? gradEnabled(),
      stream: null,
      device: t.device,
      at: t.position(),
    };
    try {
      return this.#append(traced);
    } catch (error) {
      if (!(error instanceof DrawsNumbers)) throw error;
      return this.#append(this.#drawing(traced));
    }
  }

  /** Adds the position in the random stream to the call's operands. */
  #drawing(traced: TracedCall): TracedCall {
    const { numbers, drawn } = this.#t.random.placed;
    const operands = numbers.map((tensor) => this.#operands.addKnown(tensor).index);
    return { ...traced, metas: this.#operands.metas, stream: { operands, drawn } };
  }

  #append(traced: TracedCall): Variable {
    const t = this.#t;
    const trials = trialsOf(traced, this.#operands.samples, (why) => this.#refused(why));
    const [first] = trials;
    const element = elementOf(trials);
    if (element) return this.#appendList(traced, trials, element);
    const samples = this.#operands.samples;
    const plan = plannedCall(traced, samples, trials);
    const { expected, isOpen, isLeaf, isView } = plan;
    if (isLeaf.some((begins, i) => begins && isOpen[i])) {
      throw this.#refused('has requiresGrad: true (multiply by a leaf of a known shape instead)');
    }
    const { tensors: operands, counts } = this.#operands;
    // The count of random numbers that a call draws is known for these sizes only.
    const tensors = traced.stream
      ? t.execution.appendCall(plan, operands)
      : t.execution.appendResizable(
          plan,
          (...now) => plannedAgain({ traced, samples, plan }, ...now),
          operands,
          counts,
        );
    const { copied } = t.control;
    if (isView) {
      const fixed = this.#fixed(traced.forms);
      copied.note(t.builder, fixed, tensors);
      copied.noteShared(this.#operands.tensors);
    } else for (const tensor of tensors) copied.noteOnly(tensor);
    if (traced.stream) t.random.moveBy(tensors.at(-1)!);
    const variables = tensors.map((tensor, i): Variable => {
      if (isLeaf[i]) toBeLeaf(tensor);
      if (!isOpen[i]) return t.result(tensor);
      const shapes = sampleRuns.map((run) => {
        const trial = trials.find((each) => each.sample === run);
        return trial ? trial.tried.results[i]!.shape : null;
      });
      return { kind: 'dynamic', tensor, shapes, sizes: expected[i]!.sizes };
    });
    const variableOf = (value: unknown): Variable =>
      Array.isArray(value)
        ? newArray(value.map(variableOf))
        : variables[first.tried.results.indexOf(value as Tensor)]!;
    return variableOf(first.tried.returned);
  }

  /**
   * Appends a call whose number of results depends on shapes, all with the same spec: an array of data-dependent
   * length.
   */
  #appendList(traced: TracedCall, trials: readonly Trial[], element: Tensor): Variable {
    const t = this.#t;
    const { dtype, shape, device } = element;
    const perform = performing(traced, { dtype, sizes: shape });
    const { name, forms, metas } = traced;
    const { operands: sample } = trials[0]!;
    const site = { name, forms, metas, samples: this.#operands.samples, dynamic: [false] };
    const spec: TensorSpec = { dtype, shape };
    const { tensors: operands } = this.#operands;
    const results = [contiguousMeta(listSpec(spec), device)];
    const [tensor] = t.execution.appendCall(
      { site: { ...site, list: true, perform }, sample, results },
      operands,
    );
    const counting: CallSite['perform'] = (operands, builder) => [
      numberOf(perform(operands, builder).length),
    ];
    const [count] = t.execution.appendCall(
      {
        site: { ...site, name: `length of ${name}`, list: false, perform: counting },
        sample,
        results: [contiguousMeta({ dtype: 'float64', shape: [] }, device)],
      },
      operands,
    );
    t.control.samples.note(
      count!,
      sampleRuns.map((run) => {
        const trial = trials.find((each) => each.sample === run);
        return trial ? trial.tried.results.length : Number.NaN;
      }),
    );
    const isView = trials.some(({ tried }) => tried.isView);
    if (isView) {
      const fixed = this.#fixed(forms);
      t.control.copied.note(t.builder, fixed, [tensor!]);
      t.control.copied.noteShared(this.#operands.tensors);
    }
    t.control.plans.usesLists = true;
    return growableArray({
      form: { kind: 'leaf', of: 'tensor', spec, at: t.position() },
      lists: [{ kind: 'list', tensor: tensor!, of: 'tensor', depth: 0 }],
      length: { kind: 'scalar', type: 'number', tensor: count! },
    });
  }

  /** Returns the original tensors of known shape, not the contiguous copies that the call reads. */
  #fixed(forms: TracedCall['forms']): Tensor[] {
    const fixed = this.#operands.tensors.filter((_, i) => forms[i] === 'tensor');
    return fixed.map((operand) => this.#originals.get(operand) ?? operand);
  }

  #refused(why: string): GraphBreak {
    return new GraphBreak(
      'unbacked-shape',
      `${this.#fn.name || 'a function'} of data-dependent shape ${why}`,
    );
  }

  /** Returns the argument with its operands replaced by placeholders. */
  #value(argument: Variable): unknown {
    const t = this.#t;
    const variable = specialized(argument);
    switch (variable.kind) {
      case 'tensor':
        return this.#tensor(t.use(variable));
      case 'dynamic':
        return this.#operands.add(
          'dynamic',
          variable.tensor,
          variable.shapes.map((shape) => shape ?? undefined),
        );
      case 'scalar':
        if (!this.#takesNumbers) return this.#number(variable);
        return this.#tensor(t.use(scalarOperand(t, variable, this.#like)));
      case 'constant':
      case 'symbolic':
        return constantOf(t, variable);
      case 'newTypedArray':
        return variable.data.slice();
      default:
    }
    const array = asArray(t, variable);
    if (array && isGrowable(array)) {
      const { form, lists, length } = array.growable;
      if (form.kind !== 'leaf' || form.of !== 'tensor') throw unknownLength();
      const { tensor } = lists[0]!;
      const count = countOf(t, length);
      const counts = uniformCount(count?.value ?? null) ?? t.control.samples.of(length.tensor);
      return this.#operands.add('list', tensor, counts, false, count?.deferred);
    }
    if (array) return arrayElements(t, array).map((element) => this.#value(element));
    if (variable.kind === 'newObject' && !prototypeOf(variable) && !variable.traits) {
      const entries = [...variable.entries].map(([key, value]) => {
        const option = resolved(value);
        return [key, option.kind === 'scalar' ? this.#number(option) : this.#value(option)];
      });
      return Object.fromEntries(entries);
    }
    return passedDevice(t, variable);
  }

  #tensor(tensor: Tensor): OperandPlace {
    const t = this.#t;
    const operand = t.perform<Tensor>([tensor], ([x]) => contiguous(x as Tensor));
    this.#originals.set(operand, tensor);
    return this.#operands.addKnown(operand);
  }

  #number(scalar: DeviceScalar): OperandPlace {
    const t = this.#t;
    const number = asNumber(t, scalar);
    const values = t.control.samples.of(scalar.tensor);
    const samples = values.map((each) => (Number.isNaN(each) ? undefined : each));
    return this.#operands.add('number', number, samples, scalar.type === 'boolean');
  }
}

/** Returns the number of elements of a list if the sizes determine it. */
function countOf(t: Tracer, { tensor }: DeviceScalar) {
  const expr = t.control.determined.of(tensor);
  if (!expr || !t.sizes.decide(expr)) return undefined;
  const deferred = new DeferredNumber(expr);
  return { deferred, value: t.resolver.number(expr) };
}

function numberOf(value: number): Tensor {
  return noGrad(() => full([], value, { dtype: 'float64' }));
}
