/** Calls of the tensor API on tensors whose shape only the run knows, and at numbers that decide one. */

import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import { contiguous } from '../../../runtime/ops/movement.ts';
import {
  dynamicSpec,
  type GivenOperand,
  type OperandForm,
} from '../../../runtime/program/dynamic-call.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/tensor/meta.ts';
import type { Shape } from '../../../runtime/tensor/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { CallSite } from '../../regions/site-call.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { arrayElements, asArray } from '../arrays.ts';
import { resolved, settled } from '../choices.ts';
import { constantOf } from '../facts.ts';
import { grownIn, isGrown } from '../graph-control/grown-array.ts';
import { unknownLength } from '../graph-control/list-elements.ts';
import { takesOperands } from '../graph-control/scalar-arguments.ts';
import { asNumber, scalarOperand } from '../graph-control/scalars.ts';
import type { Tracer } from '../tracer.ts';
import { newArray, type ScalarVariable, type Variable } from '../variable.ts';
import { DrawsNumbers } from './call-stream.ts';
import { samples, samplesOf } from './samples.ts';
import {
  NotDynamic,
  OperandPlace,
  performing,
  type ResultSizes,
  type TracedCall,
  type TriedCall,
  tryCall,
} from './traced-call.ts';

type Callable = (...args: never[]) => unknown;

/** Undefined for calls whose shapes the trace knows. */
export function callDynamically(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  if (t.control.policy !== 'always') return undefined;
  const takes = takesOperands(fn);
  const isOne = (given: Variable): boolean => {
    const variable = resolved(given);
    if (variable.kind === 'dynamic' || grownIn(t, variable)) return true;
    return (
      variable.kind === 'newArray' &&
      variable.elements.some((each) => isOne(each) || isNumber(each))
    );
  };
  const isNumber = (given: Variable): boolean => !takes && resolved(given).kind === 'scalar';
  if (![receiver, ...args].some(isOne) && !args.some(isNumber)) return undefined;
  return new Call(t, fn, takes).answer(receiver, args);
}

/** One call on its way into the program. */
class Call {
  readonly #t: Tracer;
  readonly #fn: Callable;
  /** Numbers are operands like tensors, and decide no shape. */
  readonly #takesNumbers: boolean;
  readonly #forms: OperandForm[] = [];
  readonly #tensors: Tensor[] = [];
  /** Per operand, what the sample runs bring; null: they don't come so far. */
  readonly #given: (readonly (GivenOperand | undefined)[])[] = [];
  #like: Tensor | undefined;

  constructor(t: Tracer, fn: Callable, takesNumbers: boolean) {
    this.#t = t;
    this.#fn = fn;
    this.#takesNumbers = takesNumbers;
  }

  answer(receiver: Variable, args: readonly Variable[]): Variable {
    const t = this.#t;
    if (this.#fn.name.endsWith('_')) {
      throw this.#refused('writes in place to a tensor');
    }
    const given = [receiver, ...args].map(resolved);
    const like = given.find((each) => each.kind === 'tensor' || each.kind === 'dynamic');
    this.#like =
      like &&
      (like.kind === 'tensor' ? t.use(like) : like.kind === 'dynamic' ? like.tensor : undefined);
    const isMethod = receiver.kind === 'tensor' || receiver.kind === 'dynamic';
    const self = isMethod ? this.#value(receiver) : undefined;
    const values = args.map((arg) => this.#value(arg));
    const call = this.#fn as (...args: unknown[]) => unknown;
    const traced: TracedCall = {
      name: this.#fn.name,
      forms: this.#forms,
      metas: this.#tensors.map((tensor) => metaOf(tensor)),
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

  /** The call with the place in the stream of random numbers among its operands. */
  #drawing(traced: TracedCall): TracedCall {
    const { numbers, drawn } = this.#t.random.placed;
    const operands = numbers.map((tensor) => this.#known(tensor).index);
    const metas = this.#tensors.map((tensor) => metaOf(tensor));
    return { ...traced, metas, stream: { operands, drawn } };
  }

  #append(traced: TracedCall): Variable {
    const t = this.#t;
    const trials = this.#trials(traced);
    const [first] = trials as [Trial, ...Trial[]];
    const expected = first.tried.results.map((_, i) => sizesOf(trials, i));
    const isOpen = expected.map(({ sizes }) => sizes.includes(null));
    const metas = expected.map(({ dtype, sizes }, i): TensorMeta => {
      const { device } = first.tried.results[i]!;
      return contiguousMeta(
        isOpen[i] ? dynamicSpec(dtype, sizes) : { dtype, shape: sizes as Shape },
        device,
      );
    });
    const { name, forms, metas: operands } = traced;
    const site: CallSite = {
      name,
      forms,
      metas: operands,
      samples: this.#given,
      dynamic: isOpen,
      perform: performing(traced, expected),
    };
    const tensors = t.execution.appendCall(site, first.given, this.#tensors, metas);
    if (trials.some(({ tried }) => tried.isView)) {
      const fixed = this.#tensors.filter((_, i) => forms[i] === 'tensor');
      t.control.copied.note(t.builder, [...fixed, ...tensors]);
    }
    if (traced.stream) t.random.moveBy(tensors.at(-1)!);
    const variables = tensors.map((tensor, i): Variable => {
      if (!isOpen[i]) return t.result(tensor);
      const shapes = samples.map((_, world) => {
        const trial = trials.find((each) => each.world === world);
        return trial ? trial.tried.results[i]!.shape : null;
      });
      return { kind: 'dynamic', tensor, shapes, sizes: expected[i]!.sizes };
    });
    const variableOf = (value: unknown): Variable =>
      Array.isArray(value)
        ? newArray(value.map(variableOf))
        : variables[first.tried.results.indexOf(value as Tensor)]!;
    return variableOf(first.tried.answer);
  }

  /** What the call answers to the sample runs; of some of them it may refuse the shapes. */
  #trials(traced: TracedCall): Trial[] {
    const trials: Trial[] = [];
    let refusal: unknown = new Error('numbers that it never gets');
    for (const world of samples.keys()) {
      const given = this.#given.map((each) => each[world]);
      if (given.includes(undefined)) continue;
      try {
        const run = given as readonly GivenOperand[];
        trials.push({ world, given: run, tried: tryCall(traced, run) });
      } catch (error) {
        if (error instanceof DrawsNumbers) throw error;
        if (error instanceof NotDynamic) throw this.#refused(error.message);
        refusal = error;
      }
    }
    const [first] = trials;
    if (!first)
      throw this.#refused(`says: ${refusal instanceof Error ? refusal.message : String(refusal)}`);
    const { length } = first.tried.results;
    if (trials.some(({ tried }) => tried.results.length !== length)) {
      throw this.#refused('answers another number of tensors for other sizes');
    }
    // Of other ranks it is an answer for special sizes, as of `squeeze` for 1.
    return trials.filter(({ tried }) => formOf(tried) === formOf(first.tried));
  }

  #refused(why: string): GraphBreak {
    return new GraphBreak(
      'shape-of-run',
      `${this.#fn.name || 'a function'} of a shape that only the run knows ${why}`,
    );
  }

  #operand(
    form: OperandForm,
    tensor: Tensor,
    given: readonly (GivenOperand | undefined)[],
  ): OperandPlace {
    this.#tensors.push(tensor);
    this.#given.push(given);
    return new OperandPlace(this.#forms.push(form) - 1);
  }

  /** The argument with its operands taken out. */
  #value(given: Variable): unknown {
    const t = this.#t;
    const variable = settled(given);
    switch (variable.kind) {
      case 'tensor':
        return this.#tensor(t.use(variable));
      case 'dynamic':
        return this.#operand(
          'dynamic',
          variable.tensor,
          variable.shapes.map((shape) => shape ?? undefined),
        );
      case 'scalar':
        return this.#number(variable);
      case 'constant':
      case 'symbolic':
        return constantOf(t, variable);
      case 'newTypedArray':
        return variable.data.slice();
      default:
    }
    const array = asArray(t, variable);
    if (array && isGrown(array)) {
      const { form, lists, length } = array.grown;
      if (form.kind !== 'leaf' || form.of !== 'tensor') throw unknownLength();
      return this.#operand('list', lists[0]!.tensor, samplesOf(length.tensor));
    }
    if (array) return arrayElements(t, array).map((element) => this.#value(element));
    if (variable.kind === 'newObject' && !variable.prototype) {
      const entries = [...variable.entries].map(([key, value]) => [key, this.#value(value)]);
      return Object.fromEntries(entries);
    }
    throw new GraphBreak('framework-call', `a ${variable.kind} is passed to tostatic`);
  }

  #tensor(tensor: Tensor): OperandPlace {
    const t = this.#t;
    const operand = t.perform<Tensor>([tensor], ([x]) => contiguous(x as Tensor));
    return this.#known(operand);
  }

  /** A tensor of one shape in all runs. */
  #known(tensor: Tensor): OperandPlace {
    return this.#operand(
      'tensor',
      tensor,
      samples.map(() => null),
    );
  }

  #number(scalar: ScalarVariable): OperandPlace {
    const t = this.#t;
    if (this.#takesNumbers) {
      return this.#tensor(t.use(scalarOperand(t, scalar, this.#like)));
    }
    const number = asNumber(t, scalar);
    const given = samplesOf(scalar.tensor).map((each) => (Number.isNaN(each) ? undefined : each));
    return this.#operand('number', number, given);
  }
}

/** A sample run that the call takes. */
interface Trial {
  /** Which one. */
  readonly world: number;
  readonly given: readonly GivenOperand[];
  readonly tried: TriedCall;
}

function metaOf({ dtype, shape, device }: Tensor): TensorMeta {
  return contiguousMeta({ dtype, shape }, device);
}

/** Sizes in which the sample runs agree are fixed. */
function sizesOf(trials: readonly Trial[], result: number): ResultSizes {
  const [{ dtype, shape }, ...others] = trials.map(({ tried }) => tried.results[result]!) as [
    Tensor,
    ...Tensor[],
  ];
  const sizes = shape.map((size, dim) =>
    others.every((each) => each.shape[dim] === size) ? size : null,
  );
  return { dtype, sizes };
}

/** What an answer is made of, up to the sizes. */
function formOf({ answer }: TriedCall): string {
  const formOfPart = (part: unknown): string =>
    Array.isArray(part) ? `[${part.map(formOfPart).join()}]` : String((part as Tensor).rank);
  return formOfPart(answer);
}

/** The argument with operands in their places. */
function placed(value: unknown, operands: readonly unknown[]): unknown {
  if (value instanceof OperandPlace) return operands[value.index];
  if (Array.isArray(value)) return value.map((each) => placed(each, operands));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, each]) => [key, placed(each, operands)]));
}
