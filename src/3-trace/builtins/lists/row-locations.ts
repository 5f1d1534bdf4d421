/** Locations that an iteration over elements may change: variables, and arrays that it appends to. */

import { liveBefore } from '../../../vm/bytecode/liveness.ts';
import { containedIn } from '../../control-flow/locations/contained-variables.ts';
import { existingObjects } from '../../control-flow/locations/reachable.ts';
import { setCell } from '../../heap/cell-content.ts';
import type { Tracer } from '../../state/tracer.ts';
import { manyTensors } from '../../values/varying-array.ts';
import type { TensorList } from '../../variables/tensor-list.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import {
  type CellVariable,
  hole,
  type NewArrayVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { differently } from './row-elements.ts';

/** A variable of the code around the loop. */
export interface RowLocation {
  readonly cell: CellVariable | null;
  read(): Variable;
  write(value: Variable): void;
}

/** Returns the live registers of the frame, and the variables that closures share. */
export function rowLocations(t: Tracer, frame: TraceFrame, except: number): RowLocation[] {
  const { registers, closure, pc } = frame;
  const live = [...liveBefore(closure.code)[pc]!].filter((register) => register !== except);
  const locations: RowLocation[] = live.map((register) => ({
    cell: null,
    read: () => registers[register] ?? undefinedVariable,
    write: (value) => {
      registers[register] = value;
    },
  }));
  for (const variable of existingObjects(t, partsLeftWhole)) {
    if (variable.kind !== 'cell' || variable.element) continue;
    locations.push({
      cell: variable,
      read: () => variable.content,
      write: (value) => setCell(t, variable, value),
    });
  }
  return locations;
}

/**
 * Returns the variables that a variable contains, without the tensors of arrays of any length: these can't be changed.
 */
function partsLeftWhole(variable: Variable): ReturnType<typeof containedIn> {
  if (variable.kind !== 'newArray' || !variable.extended) return containedIn(variable);
  return [...variable.extended.preceding, ...variable.extended.appended];
}

/** Returns the arrays created in the trace to which an iteration may append. */
export function appendableArrays(t: Tracer): NewArrayVariable[] {
  const isPlain = (variable: Variable): variable is NewArrayVariable => {
    if (variable.kind !== 'newArray' || variable.growable || variable.extended) return false;
    const { outer, isArguments, listed, fixed, named, own, elements } = variable;
    return !(outer || isArguments || listed || fixed || named || own || elements.includes(hole));
  };
  return [...existingObjects(t, partsLeftWhole)].filter(isPlain);
}

/** Makes every use of the array except `push` a graph break. Returns a function that reverts this. */
export function onlyAppendedTo(array: NewArrayVariable): () => void {
  const { elements } = array;
  const get = (): never => {
    throw differently('uses an array that it appends to');
  };
  Object.defineProperty(array, 'elements', { get, configurable: true, enumerable: true });
  return () => putElements(array, elements);
}

/** Appends tensors; their number depends on the length of a pre-existing array, also in other calls. */
export function appendForRows(
  t: Tracer,
  array: NewArrayVariable,
  outer: ObjectVariable,
  { tensors, count }: { readonly tensors: TensorList; readonly count: Variable },
): void {
  const { elements: preceding } = array;
  const all = manyTensors(t, { outer, preceding, tensors, count, isCopy: false, appended: [] });
  t.journal.note(() => {
    putElements(array, preceding);
    Reflect.deleteProperty(array, 'extended');
  });
  Object.defineProperties(array, Object.getOwnPropertyDescriptors(all));
}

function putElements(array: NewArrayVariable, value: Variable[]): void {
  const data = { value, writable: true, configurable: true, enumerable: true };
  Object.defineProperty(array, 'elements', data);
}
