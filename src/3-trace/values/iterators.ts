/** Iteration. Arrays, strings, Maps and Sets are iterated directly, user-defined iterators by their methods. */

import { unbind } from '../../../runtime/ops/arranging/splitting.ts';
import { select } from '../../../runtime/ops/movement/movement.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { OwnSet } from '../../vm/language/primordials.ts';
import { type GrowableArray, isGrowable } from '../control-flow/lists/growable-array.ts';
import {
  asCollection,
  asPlainCollection,
  type CollectionVariable,
  entriesOf,
  putInto,
} from '../heap/collections.ts';
import { Raised } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, isNullish, truthiness } from '../state/value-guards.ts';
import { iteratedBy } from '../variables/iterated-by.ts';
import type {
  GeneratorVariable,
  IteratedVariable,
  IteratorRecordVariable,
  IteratorVariable,
} from '../variables/iterator-variables.ts';
import { kindName } from '../variables/kind-names.ts';
import { specialized } from '../variables/unions.ts';
import {
  known,
  newArray,
  type TensorVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { type ArrayVariable, arrayElements, asArray } from './arrays.ts';
import { callDynamically } from './call-dynamically.ts';
import { nextOf, returnOf } from './generators.ts';
import { startOf, stepGrowable } from './lists.ts';
import { isOfArrayClass } from './makes-arrays.ts';
import { readProperty, readSymbol } from './properties.ts';
import { hasLost, hasProperty } from './property-keys.ts';
import { isPristine } from './protocols.ts';
import { isCallable, isPrimitiveVariable } from './to-primitive.ts';

export function iteratorOver(
  t: Tracer,
  over: IteratedVariable,
  what: IteratorVariable['what'],
): IteratorVariable {
  const isCollection = asCollection(t, over, 'Map', 'Set') !== undefined;
  const putIn = isCollection ? putInto(t, over as CollectionVariable) : [];
  const position = { next: 0, passed: new OwnSet(), heard: putIn.length };
  return t.journal.made({
    kind: 'iterator',
    over,
    what,
    ...position,
    done: false,
    madeIn: t.builder,
  });
}

/** Returns the value as an array, unless it is an instance of a user class, whose iteration may differ. */
function asPlainArray(t: Tracer, variable: Variable): ArrayVariable | undefined {
  return isOfArrayClass(variable) ? undefined : asArray(t, variable);
}

/** Begins `for (… of iterable)`. */
export function openIteration(t: Tracer, variable: Variable): IteratorRecordVariable {
  const iterable = specialized(variable);
  const array = asPlainArray(t, iterable);
  if (array && isPristine(t, 'array')) return record(iteratorOver(t, array, 'values'), null, true);
  const isDriven = iterable.kind === 'iterator' || iterable.kind === 'generator';
  if (isDriven && isPristine(t, 'iterator') && advancesItself(t, iterable)) {
    return record(iterable, null, false);
  }
  const set = asPlainCollection(t, iterable, 'Set');
  if (set && isPristine(t, 'set')) return record(iteratorOver(t, set, 'values'), null, false);
  const map = asPlainCollection(t, iterable, 'Map');
  if (map && isPristine(t, 'map')) return record(iteratorOver(t, map, 'entries'), null, false);
  if (iterable.kind === 'tensor') return overRows(t, iterable);
  if (iterable.kind === 'dynamic') {
    const rows = callDynamically(t, unbind as never, undefinedVariable, [iterable])!;
    return openIteration(t, rows);
  }
  if (iterable.kind === 'constant') {
    const value = constantOf(t, iterable);
    if (typeof value !== 'string') throw new GraphBreak('throw', `${typeof value} is iterated`);
    if (!isPristine(t, 'string')) {
      throw new GraphBreak('unsupported-iterable', 'the iterator of strings is replaced');
    }
    const letters = newArray([...value].map((letter) => known(letter)));
    return record(iteratorOver(t, letters, 'values'), null, true);
  }
  return openUserIteration(t, iterable);
}

/**
 * Iterates over the entries of the first dimension. Each is selected at its step, as in eager execution: backward adds
 * their gradients in the reverse order.
 */
function overRows(t: Tracer, rowsOf: TensorVariable): IteratorRecordVariable {
  if (t.use(rowsOf).rank === 0) throw new GraphBreak('throw', 'a scalar is iterated');
  const count = constantOf(t, readProperty(t, readProperty(t, rowsOf, 'shape'), '0')) as number;
  const indices = newArray(Array.from({ length: count }, (_, i) => known(i)));
  return { ...record(iteratorOver(t, indices, 'values'), null, true), rowsOf };
}

function selectRow(t: Tracer, rowsOf: TensorVariable, index: Variable): Variable {
  const at = constantOf(t, index) as number;
  return t.result(t.perform<Tensor>([t.use(rowsOf)], ([x]) => select(x as Tensor, 0, at)));
}

function openUserIteration(t: Tracer, iterable: Variable): IteratorRecordVariable {
  return t.attempt(() => {
    const method = readSymbol(t, iterable, Symbol.iterator);
    if (method.kind !== 'function' && method.kind !== 'closure') {
      throw new GraphBreak('unsupported-iterable', `${kindName(iterable)} is iterated`);
    }
    const iterator = expectObject(t.execution.callInside(method, iterable, []), 'an iterator');
    const isDriven = iterator.kind === 'iterator' || iterator.kind === 'generator';
    if (isDriven && advancesItself(t, iterator)) return record(iterator, null, false);
    return record(iterator, readProperty(t, iterator, 'next'), false);
  });
}

/** Returns whether `next` is the built-in one. */
function advancesItself(t: Tracer, iterator: IteratorVariable | GeneratorVariable): boolean {
  if (iterator.kind === 'generator') return isPristine(t, iterator.helper ? 'helper' : 'generator');
  return isPristine(t, iteratedBy(iterator));
}

/** Returns whether the iterator has no `return` method other than the built-in one. */
function leavesItself(t: Tracer, iterator: Variable): boolean {
  if (iterator.kind === 'generator') {
    return isPristine(t, iterator.helper ? 'helper return' : 'generator return');
  }
  return iterator.kind === 'iterator' && isPristine(t, `${iteratedBy(iterator)} return`);
}

export function record(
  iterator: Variable,
  next: Variable | null,
  direct: boolean,
): IteratorRecordVariable {
  return { kind: 'iteratorRecord', iterator, next, direct, done: false };
}

/** Returns the next element; null at the end. */
export function advance(
  t: Tracer,
  iteration: IteratorRecordVariable,
  read = readValue,
): Variable | null {
  if (iteration.done) return null;
  const { iterator, next, namesOf, rowsOf } = iteration;
  let element = nextElement(t, iterator, next, read);
  while (namesOf && element && isGone(t, iteration, constantOf(t, element) as string)) {
    element = nextElement(t, iterator, next, read);
  }
  // The end of a data-dependent list is decided by the program, possibly more than once.
  const isCounted = iterator.kind === 'iterator' && iterator.position !== undefined;
  if (element === null && !isCounted) t.journal.set(iteration, 'done', true, iterator);
  return rowsOf && element ? selectRow(t, rowsOf, element) : element;
}

/** Returns whether a name still to be visited is no longer a property, own or inherited. */
function isGone(t: Tracer, { namesOf, inherited }: IteratorRecordVariable, name: string): boolean {
  if (!hasLost(t, namesOf!, name)) return false;
  return !inherited?.has(name) || constantOf(t, hasProperty(t, namesOf!, name, false)) === false;
}

/** Like `advance`, for an elision in a pattern: `value` isn't read. */
export function skip(t: Tracer, iteration: IteratorRecordVariable): void {
  advance(t, iteration, () => undefinedVariable);
}

type ReadResult = (t: Tracer, result: Variable) => Variable;

const readValue: ReadResult = (t, result) => readProperty(t, result, 'value');

function nextElement(
  t: Tracer,
  iterator: Variable,
  next: Variable | null,
  read: ReadResult,
): Variable | null {
  if (next) return callNext(t, iterator, next, read);
  if (iterator.kind === 'iterator') return advanceIterator(t, iterator);
  if (iterator.kind !== 'generator') throw new GraphBreak('throw', 'next is not a function');
  const { value, done } = nextOf(t, iterator, undefinedVariable);
  return done ? null : value;
}

/** `iterator.next()` of built-in iterators, without the result object. */
export function advanceIterator(t: Tracer, iterator: IteratorVariable): Variable | null {
  if (iterator.done) return null;
  const { next, over, what } = iterator;
  const array = over.kind === 'newCollection' ? undefined : asArray(t, over);
  if (array && isGrowable(array)) return advanceGrowable(t, iterator, array);
  const collection = array ? undefined : asCollection(t, over, 'Map', 'Set');
  const element = collection
    ? collectionStep(t, collection, iterator)
    : arrayStep(t, array ?? over, what, next);
  t.journal.note(() => Object.assign(iterator, { next, done: false }), iterator);
  iterator.next++;
  if (element === null) iterator.done = true;
  return element;
}

/**
 * Advances over a list of data-dependent length. Throws UnionMet, since the program decides whether there is
 * another element.
 */
function advanceGrowable(
  t: Tracer,
  iterator: IteratorVariable,
  array: GrowableArray,
): Variable | null {
  const { position, what, next } = iterator;
  const at = position ?? startOf(t, next);
  // The instruction runs again after the decision and must see the same position.
  t.journal.set(iterator, 'position', at);
  const step = stepGrowable(t, array, at);
  if (!step) return null;
  iterator.position = step.next;
  if (what === 'keys') return at;
  return what === 'values' ? step.element : newArray([at, step.element]);
}

function arrayStep(
  t: Tracer,
  array: IteratedVariable,
  what: IteratorVariable['what'],
  index: number,
): Variable | null {
  if (index >= (constantOf(t, readProperty(t, array, 'length')) as number)) return null;
  if (what === 'keys') return known(index);
  const element = readProperty(t, array, String(index));
  return what === 'values' ? element : newArray([known(index), element]);
}

function collectionStep(
  t: Tracer,
  collection: CollectionVariable,
  iterator: IteratorVariable,
): Variable | null {
  const { what, passed, heard } = iterator;
  const putIn = putInto(t, collection);
  const again = new OwnSet<unknown>();
  for (let i = heard; i < putIn.length; i++) again.add(putIn[i]);
  const entries = entriesOf(t, collection);
  const id = firstOf(entries, (each) => !passed.has(each) || again.has(each));
  t.journal.keepSet(passed);
  again.forEach((each) => {
    passed.delete(each);
  });
  t.journal.set(iterator, 'heard', putIn.length);
  const entry = entries.get(id);
  if (!entry) return null;
  passed.add(id);
  if (what === 'entries') return newArray([entry.key, entry.value]);
  return what === 'keys' ? entry.key : entry.value;
}

/**
 * Returns how many steps advance a new iterator to this position after the run's effects: of the keys that it has passed,
 * those deleted since are not visited, and those inserted again come after it.
 */
export function stepsTo(t: Tracer, { over, next, passed, heard }: IteratorVariable): number {
  if (over.kind === 'newArray' || over.kind === 'newTypedArray' || passed.size === 0) return next;
  const again = new Set(putInto(t, over).slice(heard));
  return [...entriesOf(t, over).keys()].filter((key) => passed.has(key) && !again.has(key)).length;
}

/** Avoids Map iterators, whose methods user code may have replaced. */
function firstOf(entries: ReadonlyMap<unknown, unknown>, fits: (key: unknown) => boolean): unknown {
  let first: unknown = nothing;
  entries.forEach((_, key) => {
    if (first === nothing && fits(key)) first = key;
  });
  return first;
}

/** Differs from all user keys. */
const nothing = Symbol('nothing');

function callNext(
  t: Tracer,
  iterator: Variable,
  next: Variable,
  read: ReadResult,
): Variable | null {
  return t.attempt(() => {
    const result = iteratorResult(t.execution.callInside(next, iterator, []));
    if (truthiness(t, readProperty(t, result, 'done'))) return null;
    return read(t, result);
  });
}

export const iteratorResult = (result: Variable): Variable =>
  expectObject(result, 'an iterator result');

/** User methods have already run, so the error is thrown natively. */
function expectObject(value: Variable, what: string): Variable {
  if (!isPrimitiveVariable(specialized(value))) return value;
  throw new GraphBreak('throw', `${what} is not an object`);
}

/**
 * Closes an iterator when a loop is left early. Built-in iterators other than generators have no `return` method.
 */
export function closeIteration(t: Tracer, iteration: IteratorRecordVariable): void {
  const { iterator, done } = iteration;
  if (done) return;
  const isOwn = leavesItself(t, iterator);
  if (isOwn && iterator.kind === 'iterator') return;
  t.attempt(() => {
    if (isOwn && iterator.kind === 'generator') {
      returnOf(t, iterator, undefinedVariable);
      return;
    }
    const method = specialized(readProperty(t, iterator, 'return'));
    if (isCallable(method)) iteratorResult(t.execution.callInside(method, iterator, []));
    else if (!isPrimitiveVariable(method) || !isNullish(t, method)) {
      throw new GraphBreak('throw', 'return of an iterator is not a function');
    }
    t.journal.set(iteration, 'done', true);
  });
}

/** Returns all elements, as for `[...iterable]`. */
export function expand(t: Tracer, iterable: Variable): Variable[] {
  const array = asPlainArray(t, iterable);
  if (array && isPristine(t, 'array')) return arrayElements(t, array);
  const elements: Variable[] = [];
  eachElement(t, iterable, (element) => elements.push(element));
  return elements;
}

/** Passes the elements to `take` one by one, and closes the iterator if `take` throws. */
export function eachElement(
  t: Tracer,
  iterable: Variable,
  take: (element: Variable) => void,
): void {
  t.attempt(() => {
    const iteration = openIteration(t, iterable);
    for (let next = advance(t, iteration); next; next = advance(t, iteration)) {
      try {
        take(next);
      } catch (error) {
        if (!(error instanceof Raised) || iteration.iterator.kind === 'iterator') throw error;
        throw new GraphBreak('throw', 'an exception closes an iterator');
      }
    }
  });
}
