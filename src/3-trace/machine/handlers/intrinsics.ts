import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Pc, Reg } from '../../../vm/bytecode/instructions.ts';
import type { Intrinsic } from '../../../vm/bytecode/intrinsics.ts';
import { enterConstructor, enterMadeConstructor } from '../../builtins/construct.ts';
import { defineMember } from '../../heap/made-classes.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { heldFunction } from '../../values/getters.ts';
import {
  addMadePrivate,
  brandMadePrivate,
  definePrivateAccessor,
  definePrivateMethod,
  getMadePrivate,
  hasMadePrivate,
  newPrivateName,
  setMadePrivate,
} from '../../values/objects/made-private-names.ts';
import { addPrivate, brandPrivate } from '../../values/objects/private-names.ts';
import { superPrototype } from '../../values/objects/super.ts';
import { readFor, readSymbol } from '../../values/properties.ts';
import { isCallable } from '../../values/to-primitive.ts';
import { defineProperty, writeSuper } from '../../values/write-property.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { undefinedVariable, type Variable } from '../../variables/variable.ts';
import { get, type Handlers, set } from './handler.ts';
import { propertyKey } from './objects.ts';

interface Step {
  readonly t: Tracer;
  readonly frame: TraceFrame;
  readonly dst: Reg;
}

/** Returns the result, or nothing if a frame was pushed, whose return provides it. */
type Rule = (step: Step, ...operands: Variable[]) => Variable | undefined;

/** Intrinsics of construction. The remaining intrinsics are rare and run natively. */
const rules: Partial<Record<Intrinsic, Rule>> = {
  superConstructor: ({ t, frame }) => superConstructor(t, frame),
  superConstruct: ({ t, frame, dst }, parent, args) => {
    if (parent!.kind === 'class' && args!.kind === 'newArray') {
      return enterMadeConstructor(t, parent!, args!.elements, frame.newTarget!, dst);
    }
    if (parent!.kind !== 'function' || args!.kind !== 'newArray') {
      throw new GraphBreak('constructor', 'super()');
    }
    return enterConstructor(t, parent!, args!.elements, frame.newTarget!, dst);
  },
  bindThis: (_step, before, instance) => {
    if (before!.kind === 'uninitialized') return instance;
    throw new GraphBreak('throw', 'super() is called twice');
  },
  initializeFields: ({ t, frame }, instance) => {
    if (frame.made) {
      const { fields } = frame.made;
      return fields ? t.execution.callInside(fields, instance!, []) : undefinedVariable;
    }
    const { fields } = frame.closure;
    if (!fields) return undefinedVariable;
    const callee = { kind: 'function', value: fields, source: null } as const;
    return t.execution.callInside(callee, instance!, []);
  },
  setFields: (_step, type, fields) => {
    if (type!.kind !== 'class' || fields!.kind !== 'closure') {
      throw new GraphBreak('unsupported-value', 'the fields of a pre-existing class are set');
    }
    type!.fields = fields;
    return undefinedVariable;
  },
  defineMethod: defining('value'),
  defineGetter: defining('get'),
  defineSetter: defining('set'),
  defineField: ({ t }, object, key, value) => {
    defineProperty(t, object!, propertyKey(t, key!), value!);
    return undefinedVariable;
  },
  newPrivateName: ({ t, frame }, ...texts) => {
    const [description, owner] = texts.map((text) => constantOf(t, text) as string);
    return newPrivateName(t, frame, description!, owner!);
  },
  definePrivateMethod: ({ t }, name, method) => {
    definePrivateMethod(t, name!, method!);
    return undefinedVariable;
  },
  definePrivateGetter: definingPrivate('get'),
  definePrivateSetter: definingPrivate('set'),
  addPrivate: ({ t }, object, name, value) => {
    addMadePrivate(t, object!, name!, value!);
    return undefinedVariable;
  },
  brandPrivate: ({ t }, object, name) => {
    brandMadePrivate(t, object!, name!);
    return undefinedVariable;
  },
  getPrivate: ({ t }, object, name) => getMadePrivate(t, object!, name!),
  setPrivate: ({ t }, object, name, value) => {
    setMadePrivate(t, object!, name!, value!);
    return undefinedVariable;
  },
  hasPrivate: ({ t }, object, name) => hasMadePrivate(t, object!, name!),
  addOwnPrivate: ({ t, frame }, object, name, value) => {
    addPrivate(t, frame, object!, privateName(t, name!), value!);
    return undefinedVariable;
  },
  brandOwnPrivate: ({ t, frame }, object, name) => {
    brandPrivate(t, frame, object!, privateName(t, name!));
    return undefinedVariable;
  },
  constructed: (_step, value, self) => {
    if (isObject(value!)) return value;
    const ends = value!.kind === 'constant' && value!.value === undefined && !value!.source;
    if (ends && self!.kind !== 'uninitialized') return self;
    throw new GraphBreak('throw', 'a constructor ends without its object');
  },
  constructedBase: (_step, value, self) => (isObject(value!) ? value : self),
  disposer: ({ t }, value) => {
    if (value!.kind === 'constant' && (constantOf(t, value!) ?? undefined) === undefined) {
      return undefinedVariable;
    }
    const dispose = isObject(value!) ? readSymbol(t, value!, Symbol.dispose) : undefinedVariable;
    if (isCallable(dispose)) return dispose;
    throw new GraphBreak('throw', 'using declares a value without a dispose method');
  },
  asyncIterator: waits,
  asyncNext: waits,
  asyncReturn: waits,
  superBase: ({ t, frame }) => superPrototype(t, frame),
  getSuperOf: ({ t }, base, receiver, key) => readFor(t, base!, receiver!, propertyKey(t, key!)),
  setSuperOf: ({ t }, base, receiver, key, value) => {
    writeSuper(t, base!, receiver!, propertyKey(t, key!), value!);
    return undefinedVariable;
  },
};

function waits(): never {
  throw new GraphBreak('await', 'for await waits for the items of its iterable');
}

function defining(kind: 'value' | 'get' | 'set'): Rule {
  return ({ t }, home, key, member) => {
    defineMember(t, home!, propertyKey(t, key!), member!, kind);
    return undefinedVariable;
  };
}

function definingPrivate(half: 'get' | 'set'): Rule {
  return ({ t }, name, fn) => {
    definePrivateAccessor(t, name!, half, fn!);
    return undefinedVariable;
  };
}

/** Returns the name without its `#`. */
const privateName = (t: Tracer, name: Variable): string => String(constantOf(t, name)).slice(1);

function superConstructor(t: Tracer, frame: TraceFrame): Variable {
  if (frame.made) {
    const { parent } = frame.made;
    if (parent) return parent;
    throw new GraphBreak('throw', 'super() in a class that extends nothing');
  }
  const { fn } = frame.closure;
  if (typeof fn !== 'function') throw new GraphBreak('constructor', 'super()');
  const value = fn as (...args: never[]) => unknown;
  const base = heldFunction({ kind: 'function', value, source: null });
  return t.read({ kind: 'prototypeOf', base }, Object.getPrototypeOf(fn));
}

const isObject = ({ kind }: Variable): boolean =>
  kind !== 'constant' && kind !== 'symbolic' && kind !== 'scalar' && kind !== 'uninitialized';

export const intrinsicHandlers: Handlers<'intrinsic'> = {
  intrinsic: (t, frame, { dst, name, args }): Pc => {
    const rule = rules[name];
    if (!rule) throw new GraphBreak('unsupported-value', `a step that is not traced: ${name}`);
    const next = frame.pc + 1;
    const result = rule({ t, frame, dst }, ...args.map((register) => get(frame, register)));
    if (result) set(frame, dst, result);
    return next;
  },
};
