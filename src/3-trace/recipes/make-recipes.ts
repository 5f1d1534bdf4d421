import { invariant } from '../../../runtime/errors/invariant.ts';
import { hostType } from '../../guards/host-types.ts';
import type {
  ElementRecipe,
  MadeTraits,
  Make,
  ObjectMake,
  Recipe,
  ViewConstructor,
} from '../../traces/trace-result.ts';
import { reachedBuffer } from '../heap/buffers.ts';
import { expectNotPassed } from '../heap/passed-functions.ts';
import { stepsTo } from '../values/iterators.ts';
import { expectNoPrivate } from '../values/objects/private-names.ts';
import type { ClosureVariable } from '../variables/function-variables.ts';
import type { ListTreeSpec } from '../variables/growable-list.ts';
import type { IteratorRecordVariable } from '../variables/iterator-variables.ts';
import {
  type NewArrayVariable,
  type NewCollectionVariable,
  type NewHostVariable,
  type NewObjectVariable,
  type ObjectTraits,
  prototypeOf,
  type Variable,
} from '../variables/variable.ts';
import type { Reconstruction } from './reconstruct.ts';

/**
 * Returns how a run creates an object that was created in the trace. Its contents are recipes of the
 * reconstruction.
 */
export function makeOf(to: Reconstruction, variable: Variable): Make {
  switch (variable.kind) {
    case 'newArray':
      return arrayMake(to, variable);
    case 'newObject':
      return objectMake(to, variable);
    case 'newCollection':
      return collectionMake(to, variable);
    case 'constant':
      invariant(typeof variable.value === 'symbol', 'a primitive is not made');
      return { kind: 'symbol', description: variable.value.description };
    case 'cell':
      if (variable.element) {
        const { of, index } = variable.element;
        return { kind: 'parameterCell', arguments: to.recipe(of), index };
      }
      return { kind: 'cell', content: to.recipe(variable.content) };
    case 'iterator': {
      const { over, what, done } = variable;
      return {
        kind: 'iterator',
        over: to.recipe(over),
        what,
        next: stepsTo(to.tracer, variable),
        done,
      };
    }
    case 'iteratorRecord':
      return iteratorRecordMake(to, variable);
    case 'regexp': {
      const { kind, pattern, flags, lastIndex } = variable;
      return { kind, pattern, flags, lastIndex };
    }
    case 'newPromise': {
      const { by, values, sequence } = variable;
      return { kind: 'promise', by, values: values.map((each) => to.recipe(each)), sequence };
    }
    case 'newTypedArray':
      return viewMake(to, variable.data) ?? { kind: 'typedArray', data: variable.data };
    case 'newHost':
      return hostMake(to, variable);
    case 'generator': {
      const { frame, state, helper } = variable;
      if (helper) to.tracer.control.plans.restartWith('break', helper.code, helper.pc);
      // Recipes can't describe an iterator in progress, so the `yield*` becomes a graph break.
      if (frame.delegate)
        to.tracer.control.plans.restartWith('break', frame.closure.code, frame.pc);
      return { kind: 'generator', state, frame: to.frame(frame, frame.pc, undefined) };
    }
    case 'bound':
      return {
        kind: 'bound',
        target: to.recipe(variable.target),
        receiver: to.recipe(variable.receiver),
        args: variable.args.map((arg) => to.recipe(arg)),
      };
    case 'closure':
      return closureMake(to, variable);
    default:
      invariant(false, `a ${variable.kind} is not made`);
  }
}

function objectMake(to: Reconstruction, variable: NewObjectVariable): Make {
  const type = to.tracer.classes.get(variable);
  if (type) to.tracer.control.plans.makeNatively(type);
  return {
    kind: 'object',
    entries: entriesOf(to, variable),
    order: to.order(variable),
    prototype: prototypeRecipe(to, variable),
    errorType: variable.errorType,
    thrownIn: variable.thrownIn ?? [],
    hasCause: variable.hasCause === true,
    traits: variable.traits ? madeTraits(to, variable.traits) : null,
  };
}

function collectionMake(to: Reconstruction, variable: NewCollectionVariable): Make {
  const { type } = variable;
  if (type === 'WeakRef') {
    const [target] = variable.entries.values();
    return { kind: 'weakRef', target: to.recipe(target!.value) };
  }
  const entries = to.entries(variable);
  if (type === 'WeakMap' || type === 'WeakSet') {
    return { kind: 'weakCollection', type, entries, own: ownMake(to, variable) };
  }
  const order = to.order(variable);
  return { kind: 'collection', type, entries, order, own: ownMake(to, variable) };
}

function hostMake(to: Reconstruction, { type, value, build }: NewHostVariable): Make {
  const view = ArrayBuffer.isView(value) ? viewMake(to, value) : undefined;
  if (view) return view;
  if (type) return { kind: 'host', type, value: hostType(type).copy(value) };
  invariant(build, 'a host object that cannot be created');
  return { kind: 'fixedHost', build };
}

function closureMake(to: Reconstruction, variable: ClosureVariable): Make {
  const { code, outer, cells, thisVariable, name, home, newTarget } = variable;
  if (home) to.tracer.control.plans.makeNatively(code);
  expectNotPassed(to.tracer, outer);
  return {
    kind: 'closure',
    code,
    outer,
    cells: cells.map((cell) => to.recipe(cell)),
    thisValue: to.recipe(thisVariable),
    newTarget: newTarget && to.recipe(newTarget),
    name,
  };
}

function ownMake(
  to: Reconstruction,
  { own }: NewArrayVariable | NewCollectionVariable,
): ObjectMake | null {
  return own ? (makeOf(to, own) as ObjectMake) : null;
}

function arrayMake(to: Reconstruction, variable: NewArrayVariable): Make {
  if (variable.growable) {
    const { form, lists } = variable.growable;
    const outputs = lists.map((list) => to.outputs.ofList(list));
    return { kind: 'list', outputs, element: elementRecipe(to, form) };
  }
  const { extended, isArguments, parameters, callee } = variable;
  const isFrozen = variable.fixed === true;
  if (
    extended?.isCopy &&
    extended.preceding.length === 0 &&
    !variable.named?.size &&
    !variable.own
  ) {
    const elements = extended.appended.map((element) => to.element(element));
    return { kind: 'extendedArray', array: to.recipe(extended.outer), elements, isFrozen };
  }
  const named = [...(variable.named ?? [])].map(([key, value]) => [key, to.recipe(value)] as const);
  const items = variable.elements.map((element) => to.element(element));
  if (!isArguments) {
    return { kind: 'array', elements: items, isFrozen, named, own: ownMake(to, variable) };
  }
  const count = parameters && Math.max(0, ...[...parameters.keys()].map((index) => index + 1));
  const shared = count === undefined ? null : { count, callee: callee?.value };
  return { kind: 'arguments', elements: items, named, shared };
}

/** Avoids iterators: user code may have replaced the protocol that destructuring uses. */
function entriesOf(to: Reconstruction, { entries }: NewObjectVariable): [string, Recipe][] {
  const recipes: [string, Recipe][] = [];
  entries.forEach((value, key) => {
    recipes.push([key, to.recipe(value)]);
  });
  return recipes;
}

function prototypeRecipe(to: Reconstruction, object: NewObjectVariable): Recipe | null | undefined {
  const prototype = prototypeOf(object);
  return prototype ? to.recipe(prototype) : prototype;
}

function madeTraits(
  to: Reconstruction,
  { attributes, symbols, extensible }: ObjectTraits,
): MadeTraits {
  expectNoPrivate(to.tracer, symbols.keys());
  const half = (accessor: Variable | null) => accessor && to.recipe(accessor);
  return {
    attributes: [...attributes].map(([key, { accessor, ...rest }]) => {
      const accessors = accessor && { get: half(accessor.get), set: half(accessor.set) };
      return [key, { ...rest, accessor: accessors }] as const;
    }),
    symbols: [...symbols].map(([key, value]) => [key, to.recipe(value)] as const),
    madeSymbols: [...symbols.keys()].flatMap((key) => {
      const recipe = to.madeSymbol(key);
      return recipe ? [[key, recipe] as const] : [];
    }),
    extensible,
  };
}

function iteratorRecordMake(
  to: Reconstruction,
  { iterator, next, direct, namesOf, rowsOf, done }: IteratorRecordVariable,
): Make {
  if (direct && iterator.kind === 'iterator') {
    const array = to.recipe(rowsOf ?? iterator.over);
    const object = namesOf ? to.recipe(namesOf) : null;
    return { kind: 'arrayIterator', array, namesOf: object, next: iterator.next, done };
  }
  const method = next && to.recipe(next);
  return { kind: 'iteratorRecord', iterator: to.recipe(iterator), next: method, done };
}

function elementRecipe(to: Reconstruction, form: ListTreeSpec): ElementRecipe {
  switch (form.kind) {
    case 'leaf':
      return { kind: 'leaf', of: form.of };
    case 'same':
      return { kind: 'same', value: to.recipe(form.value) };
    case 'array':
      return { kind: 'array', parts: form.parts.map((part) => elementRecipe(to, part)) };
    case 'object': {
      const { prototype } = form;
      return {
        kind: 'object',
        entries: form.entries.map(([key, part]) => [key, elementRecipe(to, part)] as const),
        prototype: prototype ? to.recipe(prototype) : prototype,
      };
    }
    case 'list':
      return { kind: 'list', of: elementRecipe(to, form.of) };
  }
}

/** Returns how to create a view of shared memory; undefined if no other object uses the memory. */
function viewMake(to: Reconstruction, view: ArrayBufferView): Make | undefined {
  const buffer = reachedBuffer(view.buffer);
  if (!buffer) return undefined;
  const { byteOffset, byteLength } = view;
  const size = (view as { readonly BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
  return {
    kind: 'view',
    type: view.constructor as ViewConstructor,
    buffer: to.recipe(buffer),
    byteOffset,
    length: byteLength / size,
  };
}
