import { isGetterGlobal } from '../../../guards/plain.ts';
import type { Source } from '../../../guards/source.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { usesNewTarget } from '../../../vm/bytecode/arrow-uses.ts';
import type { Code } from '../../../vm/bytecode/code.ts';
import { templateObject } from '../../../vm/bytecode/template-object.ts';
import { setCell } from '../../heap/cell-content.ts';
import { makeClass } from '../../heap/made-classes.ts';
import { expectNonePassed, variableAround } from '../../heap/passed-functions.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, isInitialized, typeOf } from '../../state/value-guards.ts';
import { nameClosure } from '../../values/objects/name-closure.ts';
import { extendedArray } from '../../values/varying-array.ts';
import type { ClosureVariable } from '../../variables/function-variables.ts';
import { argumentsOf, type TraceFrame } from '../../variables/trace-frame.ts';
import {
  absent,
  type CellReference,
  type CellVariable,
  type FunctionVariable,
  known,
  type NewArrayVariable,
  newArray,
  undefinedVariable,
  uninitializedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { get, type Handlers, set } from './handler.ts';
import { propertyKey } from './objects.ts';

/** Constants, moves, arguments, free names, cells and closures. */
export const valueHandlers: Handlers<
  | 'const'
  | 'regexp'
  | 'move'
  | 'uninitialized'
  | 'checkInitialized'
  | 'arg'
  | 'restArgs'
  | 'this'
  | 'newTarget'
  | 'arguments'
  | 'parameterCell'
  | 'class'
  | 'templateObject'
  | 'loadFree'
  | 'storeFree'
  | 'typeofFree'
  | 'newCell'
  | 'loadCell'
  | 'storeCell'
  | 'outerCell'
  | 'closure'
> = {
  const: (_t, frame, { dst, value }) => set(frame, dst, known(value)),
  regexp: (_t, frame, { dst, pattern, flags }) =>
    set(frame, dst, { kind: 'regexp', pattern, flags, lastIndex: 0 }),
  move: (_t, frame, { dst, src }) => set(frame, dst, get(frame, src)),
  uninitialized: (_t, frame, { dst }) => set(frame, dst, uninitializedVariable),
  checkInitialized: (t, frame, { src, name }) => {
    if (!isInitialized(t, get(frame, src))) {
      throw new GraphBreak('throw', `${name} is read before its initialisation`);
    }
  },

  arg: (t, frame, { dst, index }) => set(frame, dst, argument(t, frame, index)),
  restArgs: (t, frame, { dst, from }) => {
    const extended =
      frame.entry === null
        ? frame.rest && extendedArray(t, frame.rest, frame.args.slice(from))
        : passedRest(t, frame, frame.entry, from);
    if (frame.entry !== null && !extended) guardArgumentCount(t, frame);
    set(frame, dst, extended ?? newArray(argumentsOf(frame).slice(from)));
  },
  this: (_t, frame, { dst }) => set(frame, dst, frame.thisVariable),
  newTarget: (_t, frame, { dst }) => set(frame, dst, frame.newTarget ?? undefinedVariable),

  arguments: (t, frame, { dst, mapped }) => {
    if (frame.entry !== null) guardArgumentCount(t, frame);
    const elements = [...frame.args];
    const shared = mapped ? { parameters: new Map(), callee: calleeOf(frame) } : {};
    set(frame, dst, { kind: 'newArray', elements, isArguments: true, ...shared });
  },
  parameterCell: (_t, frame, { dst, arguments: from, index }) => {
    const of = get(frame, from);
    if (of.kind !== 'newArray' || !of.parameters) {
      throw new GraphBreak('unsupported-value', 'arguments is used');
    }
    const content = of.elements[index] ?? undefinedVariable;
    const isElement = index < of.elements.length;
    const known = of.parameters.get(index);
    const cell: CellVariable =
      known ??
      (isElement ? { kind: 'cell', content, element: { of, index } } : { kind: 'cell', content });
    if (isElement) of.parameters.set(index, cell);
    set(frame, dst, cell);
  },
  class: (t, frame, { dst, code, cells, name, nameFrom, parent }) => {
    const innerCode = frame.closure.code.inner[code]!;
    const outer = cells.map((cell) => cellIn(frame, cell));
    const key = nameFrom === undefined ? name : propertyKey(t, get(frame, nameFrom));
    if (typeof key === 'symbol') {
      throw new GraphBreak('unsupported-value', 'a class is named by a symbol');
    }
    const base = parent === null ? null : get(frame, parent);
    set(frame, dst, makeClass(t, frame, innerCode, outer, key, base));
  },
  templateObject: (t, frame, instruction) => {
    const value = templateObject(instruction);
    const source = { kind: 'held', value, name: 'the strings of a template' } as const;
    set(frame, instruction.dst, t.read(source, value));
  },

  loadFree: (t, frame, { dst, name }) => set(frame, dst, readFree(t, frame, name)),
  storeFree: (t, frame, { name, src }) => {
    const place = frame.closure.scope.place?.(name, true);
    if (!place) throw new GraphBreak('variable-write', `${name} is assigned`);
    const { object, key } = place;
    expectNonePassed(t);
    t.effects.variables.add(place);
    t.effects.write(object, { kind: 'held', value: object, name }, key, get(frame, src));
  },
  typeofFree: (t, frame, { dst, name }) => {
    const { scope } = frame.closure;
    const written = writtenGlobal(t, frame, name);
    if (written) {
      const type = written === absent ? 'undefined' : typeOf(t, written);
      return set(frame, dst, known(type));
    }
    // A name that is missing now may exist later.
    const isThere = t.read({ kind: 'hasFree', scope, name }, scope.has(name));
    if (!constantOf(t, isThere)) return set(frame, dst, known('undefined'));
    set(frame, dst, known(typeOf(t, readFree(t, frame, name))));
  },

  newCell: (_t, frame, { dst }) =>
    set(frame, dst, { kind: 'cell', content: uninitializedVariable }),
  loadCell: (t, frame, { dst, cell }) => set(frame, dst, cellContent(t, cellIn(frame, cell))),
  storeCell: (t, frame, { cell, src }) => {
    const target = cellIn(frame, cell);
    if (target.kind === 'cell') setCell(t, target, get(frame, src));
    else t.effects.write(target.value, target.source, 'value', get(frame, src));
  },
  outerCell: (_t, frame, { dst, index }) => set(frame, dst, frame.cells[index]!),
  closure: (t, frame, { dst, code, cells, nameFrom, home }) => {
    const inner = frame.closure.code.inner[code]!;
    const object = home === undefined ? inner.kind === 'arrow' && frame.home : get(frame, home);
    if (object && t.control.plans.native.has(inner)) {
      throw new GraphBreak('unsupported-value', 'a function that uses super is made');
    }
    const closure: ClosureVariable = {
      kind: 'closure',
      code: inner,
      outer: frame.closure,
      cells: cells.map((cell) => cellIn(frame, cell)),
      thisVariable: frame.thisVariable,
      ...(object && { home: object }),
      ...(frame.newTarget && seesNewTarget(inner) && { newTarget: frame.newTarget }),
    };
    if (nameFrom !== undefined) nameClosure(t, closure, propertyKey(t, get(frame, nameFrom)));
    set(frame, dst, closure);
  },
};

const seesNewTarget = (code: Code): boolean => code.kind === 'arrow' && usesNewTarget(code);

/** Only pre-existing functions are visible as `callee`. */
function calleeOf({ closure: { fn } }: TraceFrame): FunctionVariable | undefined {
  return fn && { kind: 'function', value: fn as FunctionVariable['value'], source: null };
}

function argument(t: Tracer, frame: TraceFrame, index: number): Variable {
  const passed = frame.args[index];
  if (passed) return passed;
  if (frame.entry === null) return undefinedVariable;
  // Fewer arguments than parameters: a later call may pass more.
  return t.read({ kind: 'argument', frame: frame.entry, index }, undefined);
}

/** Returns the rest arguments of the captured function as an array of any length. */
function passedRest(
  t: Tracer,
  frame: TraceFrame,
  entry: number,
  from: number,
): NewArrayVariable | undefined {
  const source = { kind: 'restArguments', frame: entry, from } as const;
  const value = t.entryFrames[entry]!.args.slice(from);
  const length = t.read({ kind: 'property', base: source, key: 'length' }, value.length);
  if (length.kind !== 'symbolic') return undefined;
  return extendedArray(t, { kind: 'object', value, source });
}

function guardArgumentCount(t: Tracer, frame: TraceFrame): void {
  const source = { kind: 'argumentCount', frame: frame.entry! } as const;
  constantOf(t, t.read(source, frame.args.length));
}

function readFree(t: Tracer, frame: TraceFrame, name: string): Variable {
  const { scope, code } = frame.closure;
  if (isGetterGlobal(name)) throw new GraphBreak('getter', `reading ${name}`);
  const around = variableAround(t, frame.closure, name);
  if (around) {
    if (t.effects.variables.size > 0) expectNonePassed(t);
    return readAround(t, frame, around, name);
  }
  const constant = scope.isConstant(name);
  const place = constant ? undefined : scope.place?.(name, false);
  if (place) {
    const { object, key } = place;
    const written = t.effects.written(object, { kind: 'held', value: object, name }, key);
    if (written) return written;
  }
  const global = writtenGlobal(t, frame, name);
  if (global === absent) throw new GraphBreak('throw', `${name} is deleted`);
  if (global) return global;
  let value: unknown;
  try {
    value = scope.get(name);
  } catch {
    throw new GraphBreak('throw', `${name} can't be read`);
  }
  const variable = t.read({ kind: 'free', scope, name, owner: code.name }, value);
  // This package never reassigns functions that its modules share.
  if (!constant && !(variable.kind === 'function' && isFrameworkFile(code.source.file))) {
    return variable;
  }
  // It is never reassigned, so no guard is needed. Objects keep their source, since their content may change.
  if (variable.kind === 'constant' || variable.kind === 'function') {
    return { ...variable, source: null };
  }
  return variable;
}

/** Returns what the trace wrote to the global object's property, if the name refers to it; `absent` included. */
function writtenGlobal(t: Tracer, { closure }: TraceFrame, name: string): Variable | undefined {
  const { scope } = closure;
  if (!t.effects.isWritten(globalThis) || scope.isConstant(name)) return undefined;
  const property = Object.getOwnPropertyDescriptor(globalThis, name);
  const isGlobal = scope.has(name)
    ? property !== undefined && Object.is(property.value, scope.get(name))
    : property === undefined;
  if (!isGlobal) return undefined;
  const source = { kind: 'held', value: globalThis, name: 'globalThis' } as const;
  return t.effects.written(globalThis, source, name);
}

/** Reads an outer variable of a passed function, which another function with the same code may replace. */
function readAround(t: Tracer, { closure }: TraceFrame, source: Source, name: string): Variable {
  let value: unknown;
  try {
    value = closure.scope.get(name);
  } catch {
    throw new GraphBreak('throw', `${name} can't be read`);
  }
  return t.read(source, value);
}

function cellIn(frame: TraceFrame, reg: Parameters<typeof get>[1]): CellReference {
  const cell = get(frame, reg);
  if (cell.kind === 'cell' || cell.kind === 'object') return cell;
  throw new GraphBreak('unsupported-value', 'a cell is missing');
}

function cellContent(t: Tracer, cell: CellReference): Variable {
  if (cell.kind === 'cell') {
    t.variables.reads?.cells.add(cell);
    return cell.content;
  }
  const written = t.effects.written(cell.value, cell.source, 'value');
  if (written) return written;
  const { value } = cell.value as { readonly value: unknown };
  return t.read({ kind: 'property', base: cell.source, key: 'value' }, value);
}
