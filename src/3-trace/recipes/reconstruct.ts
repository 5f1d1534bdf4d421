import { assertNever, InvariantError, invariant } from '../../../runtime/errors/invariant.ts';
import { mapText } from '../../../runtime/program/number-text.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { hostType } from '../../guards/host-types.ts';
import type {
  Effect,
  ElementRecipe,
  EntryRecipe,
  FrameRecipe,
  KeyOrder,
  MadeTraits,
  Make,
  Recipe,
  ViewConstructor,
} from '../../traces/trace-result.ts';
import { needsArguments } from '../../vm/bytecode/call-inputs.ts';
import { uninitialized } from '../../vm/bytecode/frame.ts';
import type { Pc, Reg } from '../../vm/bytecode/instructions.ts';
import { liveBefore, liveDuring } from '../../vm/bytecode/liveness.ts';
import {
  requiresGradAlways,
  requiresGradFlag,
  withoutGraph,
} from '../control-flow/merge/requires-grad.ts';
import { asNumber } from '../control-flow/numbers/scalars.ts';
import { reachedBuffer } from '../heap/buffers.ts';
import { type Keyed, labelOf } from '../heap/key-order.ts';
import { expectNotPassed } from '../heap/passed-functions.ts';
import type { Tracer } from '../state/tracer.ts';
import { expectNoPrivate, expectNoPrivateFields } from '../values/objects/private-names.ts';
import type { ListTreeSpec } from '../variables/growable-list.ts';
import type { IteratorRecordVariable, IteratorVariable } from '../variables/iterator-variables.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { resolved } from '../variables/unions.ts';
import {
  absent,
  hole,
  type NewArrayVariable,
  type NewCollectionVariable,
  type NewObjectVariable,
  type ObjectTraits,
  prototypeOf,
  type TensorVariable,
  type Variable,
} from '../variables/variable.ts';
import { ProgramOutputs } from './program-outputs.ts';

/**
 * Turns variables into recipes that give the same values after a run of the graph. One object has one
 * recipe, however often it is reached, so identities and cycles stay.
 */
export class Reconstruction {
  readonly makes: Make[] = [];
  readonly outputs: ProgramOutputs;
  readonly #tracer: Tracer;
  readonly #made = new Map<Variable, number>();
  /** The effects on outputs' gradients after the run. */
  readonly gradients: Effect[] = [];

  /** The recipes of tensors that require gradients on some paths only. */
  readonly #unions = new Map<Tensor, Recipe>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
    this.outputs = new ProgramOutputs(tracer.builder);
  }

  recipe(given: Variable): Recipe {
    const variable = resolved(given);
    if (variable === absent) return { kind: 'absent' };
    switch (variable.kind) {
      case 'constant':
        if (variable.source) return { kind: 'source', source: variable.source };
        return this.#madeSymbol(variable.value) ?? { kind: 'constant', value: variable.value };
      case 'symbolic':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'number', expr: variable.expr };
      case 'scalar':
        return {
          kind: 'scalar',
          index: this.outputs.ofScalar(variable.tensor),
          type: variable.type,
        };
      case 'text':
        return {
          kind: 'text',
          parts: mapText(variable.parts, ({ tensor, type }) => ({
            kind: 'scalar',
            index: this.outputs.ofScalar(tensor),
            type,
          })),
        };
      case 'union':
        return {
          kind: 'choice',
          which: this.recipe(variable.selector.which),
          options: variable.options.map((option) => this.recipe(option)),
        };
      case 'object':
        return { kind: 'source', source: variable.source };
      case 'function':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'held', value: variable.value };
      case 'tensor':
        // An outer tensor is that very tensor again.
        return variable.source
          ? { kind: 'source', source: variable.source }
          : this.#tensorOutput(variable);
      case 'uninitialized':
        return variable.source
          ? { kind: 'source', source: variable.source }
          : { kind: 'constant', value: uninitialized };
      case 'newArray':
        if (variable.outer) return { kind: 'source', source: variable.outer.source };
        return { kind: 'made', index: this.make(variable) };
      case 'newCollection':
        if (variable.outer) return { kind: 'source', source: variable.outer.source };
        return { kind: 'made', index: this.make(variable) };
      case 'newHost':
        if (variable.outer) return { kind: 'source', source: variable.outer.source };
        return { kind: 'made', index: this.make(variable) };
      case 'newObject':
      case 'cell':
      case 'closure':
      case 'bound':
      case 'iterator':
      case 'iteratorRecord':
      case 'newTypedArray':
      case 'regexp':
      case 'generator':
        return { kind: 'made', index: this.make(variable) };
      case 'class':
        return this.#tracer.control.plans.makeNatively([variable.code]);
      case 'dynamic':
        return { kind: 'output', index: this.outputs.of(variable.tensor) };
      case 'list':
        throw new InvariantError('a list is the content of an array');
      default:
        return assertNever(variable, 'variable');
    }
  }

  /** The symbol that a run makes in the place of one that the trace has made. */
  #madeSymbol(value: unknown): Recipe | undefined {
    if (typeof value === 'symbol') expectNoPrivate(this.#tracer, [value]);
    const variable = typeof value === 'symbol' ? this.#tracer.symbols.get(value) : undefined;
    return variable && { kind: 'made', index: this.make(variable) };
  }

  entries({ entries }: NewCollectionVariable): EntryRecipe[] {
    return Array.from(entries.values(), ({ key, value }) => {
      return [this.recipe(key), this.recipe(value)] as const;
    });
  }

  order(keyed: Keyed): KeyOrder | null {
    const { order, entries } = keyed;
    return order ? { which: this.recipe(order), labels: [...entries.keys()].map(labelOf) } : null;
  }

  /** The objects that are made after the run. */
  get made(): Iterable<Variable> {
    return this.#made.keys();
  }

  /** A handle of its own for each tensor of the trace, with what it knows of gradients. */
  #tensorOutput(variable: TensorVariable): Recipe {
    const tensor = variable.traced!;
    const isNew = !this.outputs.has(tensor);
    const own = { kind: 'output', index: this.outputs.of(tensor) } as const;
    const t = this.#tracer;
    const recipe =
      requiresGradAlways(t, tensor) === null ? this.#withOrWithoutGraph(tensor, own) : own;
    if (!isNew) return recipe;
    if (this.#tracer.builder.isOwnLeaf(tensor)) {
      this.gradients.push({ kind: 'requiresGrad', tensor: recipe, value: true });
    }
    if (variable.retainsGrad) this.gradients.push({ kind: 'retainGrad', tensor: recipe });
    if (variable.grad?.kind === 'tensor' || variable.grad?.kind === 'union') {
      const value = this.recipe(variable.grad);
      this.gradients.push({ kind: 'setGrad', tensor: recipe, value });
    }
    return recipe;
  }

  /** Where the run's path has recorded no graph for it, the same tensor without one. */
  #withOrWithoutGraph(tensor: Tensor, own: Recipe & { kind: 'output' }): Recipe {
    const known = this.#unions.get(tensor);
    if (known) return known;
    const t = this.#tracer;
    const required = requiresGradFlag(t, tensor);
    const which = { kind: 'scalar', type: 'number', tensor: asNumber(t, required) } as const;
    const apart = withoutGraph(t, tensor);
    const recipe: Recipe = {
      kind: 'choice',
      which: this.recipe(which),
      options: [{ ...own, index: this.outputs.of(apart) }, own],
    };
    this.#unions.set(tensor, recipe);
    return recipe;
  }

  element(variable: Variable): Recipe | null {
    return variable === hole ? null : this.recipe(variable);
  }

  /** The frame at its present instruction, with the registers that are read from there on. */
  frame(frame: TraceFrame, pc: Pc, awaited: Reg | undefined): FrameRecipe {
    const { closure, cells, entry, returnTo } = frame;
    expectNotPassed(this.#tracer, closure);
    expectNoPrivateFields(this.#tracer, closure);
    const { plans } = this.#tracer.control;
    if (frame.made) plans.makeNatively([frame.made.code]);
    if (frame.home) plans.makeNatively([closure.code]);
    // A frame that waits for its call may continue after it, or at the handler of a throw.
    const live = [
      ...(awaited === undefined ? liveBefore(closure.code)[pc]! : liveDuring(closure.code, pc - 1)),
    ];
    const args = needsArguments(closure.code, pc) ? frame.args : [];
    return {
      call:
        entry !== null
          ? { kind: 'entry', frame: entry }
          : {
              kind: 'inlined',
              closure,
              cells: cells.map((cell) => this.recipe(cell)),
              thisValue: this.recipe(frame.thisVariable),
              args: args.map((arg) => this.recipe(arg)),
              newTarget: frame.newTarget && this.recipe(frame.newTarget),
            },
      pc,
      gradMode: frame.gradMode,
      guard: frame.guard,
      registers: live.flatMap((reg) => {
        const variable = frame.registers[reg];
        return variable ? [[reg, this.recipe(variable)] as const] : [];
      }),
      returnTo,
    };
  }

  #prototype(object: NewObjectVariable): Recipe | null | undefined {
    const prototype = prototypeOf(object);
    return prototype ? this.recipe(prototype) : prototype;
  }

  #traits({ attributes, symbols, extensible }: ObjectTraits): MadeTraits {
    expectNoPrivate(this.#tracer, symbols.keys());
    const half = (accessor: Variable | null) => accessor && this.recipe(accessor);
    return {
      attributes: [...attributes].map(([key, { accessor, ...rest }]) => {
        const made = accessor && { get: half(accessor.get), set: half(accessor.set) };
        return [key, { ...rest, accessor: made }] as const;
      }),
      symbols: [...symbols].map(([key, value]) => [key, this.recipe(value)] as const),
      madeSymbols: [...symbols.keys()].flatMap((key) => {
        const recipe = this.#madeSymbol(key);
        return recipe ? [[key, recipe] as const] : [];
      }),
      extensible,
    };
  }

  #record({ iterator, next, direct, done }: IteratorRecordVariable): Make {
    if (direct && iterator.kind === 'iterator') {
      const array = this.recipe(iterator.over);
      return { kind: 'arrayIterator', array, next: iterator.next, done };
    }
    const method = next && this.recipe(next);
    return { kind: 'iteratorRecord', iterator: this.recipe(iterator), next: method, done };
  }

  #elementRecipe(form: ListTreeSpec): ElementRecipe {
    switch (form.kind) {
      case 'leaf':
        return { kind: 'leaf', of: form.of };
      case 'same':
        return { kind: 'same', value: this.recipe(form.value) };
      case 'array':
        return { kind: 'array', parts: form.parts.map((part) => this.#elementRecipe(part)) };
      case 'object': {
        const { prototype } = form;
        return {
          kind: 'object',
          entries: form.entries.map(([key, part]) => [key, this.#elementRecipe(part)] as const),
          prototype: prototype ? this.recipe(prototype) : prototype,
        };
      }
      case 'list':
        return { kind: 'list', of: this.#elementRecipe(form.of) };
    }
  }

  make(variable: Variable): number {
    const existing = this.#made.get(variable);
    if (existing !== undefined) return existing;
    const index = this.makes.length;
    this.#made.set(variable, index);
    // Takes its place before its contents are asked for: an object may contain itself.
    this.makes.push({ kind: 'array', elements: [], named: [], isFrozen: false });
    this.makes[index] = this.#content(variable);
    return index;
  }

  #array(variable: NewArrayVariable): Make {
    const { elements, isArguments, parameters, callee } = variable;
    const isFrozen = variable.fixed === true;
    const named = [...(variable.named ?? [])].map(
      ([key, value]) => [key, this.recipe(value)] as const,
    );
    const items = elements.map((element) => this.element(element));
    if (!isArguments) return { kind: 'array', elements: items, isFrozen, named };
    const count = parameters && Math.max(0, ...[...parameters.keys()].map((index) => index + 1));
    const shared = count === undefined ? null : { count, callee: callee?.value };
    return { kind: 'arguments', elements: items, named, shared };
  }

  /** Uses no iterator: the user may have replaced the protocol that destructuring uses. */
  #entriesOf({ entries }: NewObjectVariable): [string, Recipe][] {
    const recipes: [string, Recipe][] = [];
    entries.forEach((value, key) => {
      recipes.push([key, this.recipe(value)]);
    });
    return recipes;
  }

  /** How to make a view of memory that other objects share; undefined if the memory belongs to the view alone. */
  #view(view: ArrayBufferView): Make | undefined {
    const buffer = reachedBuffer(view.buffer);
    if (!buffer) return undefined;
    const { byteOffset, byteLength } = view;
    const size = (view as { readonly BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
    return {
      kind: 'view',
      type: view.constructor as ViewConstructor,
      buffer: this.recipe(buffer),
      byteOffset,
      length: byteLength / size,
    };
  }

  #content(variable: Variable): Make {
    switch (variable.kind) {
      case 'newArray':
        if (variable.grown) {
          const { form, lists } = variable.grown;
          const outputs = lists.map((list) => this.outputs.ofList(list));
          return { kind: 'list', outputs, element: this.#elementRecipe(form) };
        }
        return this.#array(variable);
      case 'newObject': {
        const type = this.#tracer.classes.get(variable);
        if (type) this.#tracer.control.plans.makeNatively([type]);
        return {
          kind: 'object',
          entries: this.#entriesOf(variable),
          order: this.order(variable),
          prototype: this.#prototype(variable),
          errorType: variable.errorType,
          thrownIn: variable.thrownIn ?? [],
          hasCause: variable.hasCause === true,
          traits: variable.traits ? this.#traits(variable.traits) : null,
        };
      }
      case 'newCollection':
        if (variable.type === 'WeakMap' || variable.type === 'WeakSet') {
          return { kind: 'weakCollection', type: variable.type, entries: this.entries(variable) };
        }
        return {
          kind: 'collection',
          type: variable.type,
          entries: this.entries(variable),
          order: this.order(variable),
        };
      case 'constant':
        invariant(typeof variable.value === 'symbol', 'a primitive is not made');
        return { kind: 'symbol', description: variable.value.description };
      case 'cell':
        if (variable.element) {
          const { of, index } = variable.element;
          return { kind: 'parameterCell', arguments: this.recipe(of), index };
        }
        return { kind: 'cell', content: this.recipe(variable.content) };
      case 'iterator': {
        const { over, what, done } = variable;
        return { kind: 'iterator', over: this.recipe(over), what, next: stepsOf(variable), done };
      }
      case 'iteratorRecord':
        return this.#record(variable);
      case 'regexp':
        return {
          kind: 'regexp',
          pattern: variable.pattern,
          flags: variable.flags,
          lastIndex: variable.lastIndex,
        };
      case 'newTypedArray':
        return this.#view(variable.data) ?? { kind: 'typedArray', data: variable.data };
      case 'newHost': {
        const { type, value, build } = variable;
        const view = ArrayBuffer.isView(value) ? this.#view(value) : undefined;
        if (view) return view;
        if (type) return { kind: 'host', type, value: hostType(type).copy(value) };
        invariant(build, 'a host object that cannot be created');
        return { kind: 'fixedHost', build };
      }
      case 'generator': {
        const { frame, state } = variable;
        // Which iterator it has begun can't be told again: the `yield*` is a break then.
        if (frame.delegate) this.#tracer.control.plans.breakAt(frame.closure.code, frame.pc);
        return { kind: 'generator', state, frame: this.frame(frame, frame.pc, undefined) };
      }
      case 'bound':
        return {
          kind: 'bound',
          target: this.recipe(variable.target),
          receiver: this.recipe(variable.receiver),
          args: variable.args.map((arg) => this.recipe(arg)),
        };
      case 'closure': {
        const { code, outer, cells, thisVariable, name, home } = variable;
        if (home) this.#tracer.control.plans.makeNatively([code]);
        expectNotPassed(this.#tracer, outer);
        return {
          kind: 'closure',
          code,
          outer,
          cells: cells.map((cell) => this.recipe(cell)),
          thisValue: this.recipe(thisVariable),
          name,
        };
      }
      default:
        invariant(false, `a ${variable.kind} is not made`);
    }
  }
}

/** How many steps bring a new iterator there: those to keys that were deleted on the path are none. */
function stepsOf({ over, next, passed }: IteratorVariable): number {
  if (over.kind === 'newArray' || over.kind === 'newTypedArray' || passed.size === 0) return next;
  const keys =
    over.kind === 'object' ? (over.value as ReadonlySet<unknown>).keys() : over.entries.keys();
  return [...keys].filter((key) => passed.has(key)).length;
}
