import { collectionPrototypes } from '../../../guards/collection-slots.ts';
import { isProxy } from '../../../guards/plain.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { functionPrototype } from '../../../vm/language/function-prototypes.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, guardKind, isNullish } from '../../state/value-guards.ts';
import { kindName } from '../../variables/kind-names.ts';
import { specialized } from '../../variables/unions.ts';
import { known, prototypeOf, type Variable } from '../../variables/variable.ts';
import { heldFunction } from '../getters.ts';
import { isPrimitiveVariable } from '../to-primitive.ts';

export function isObjectVariable(variable: Variable): boolean {
  return !isPrimitiveVariable(variable) && variable.kind !== 'uninitialized';
}

/** `Object.getPrototypeOf(value)` */
export function prototypeVariable(t: Tracer, variable: Variable): Variable {
  const value = specialized(variable);
  switch (value.kind) {
    case 'constant':
    case 'symbolic':
      if (isNullish(t, value)) break;
      return held(t, Object.getPrototypeOf(constantOf(t, value)) as object);
    case 'newObject': {
      const above = prototypeOf(value);
      if (above === null) return known(null);
      return above ?? held(t, Object.prototype);
    }
    case 'newArray':
      if (value.own) return prototypeVariable(t, value.own);
      return held(t, value.isArguments ? Object.prototype : Array.prototype);
    case 'newCollection':
      if (value.own) return prototypeVariable(t, value.own);
      return held(t, collectionPrototypes[value.type]);
    case 'newTypedArray':
      return held(t, Object.getPrototypeOf(value.data) as object);
    case 'newHost':
      return held(t, Object.getPrototypeOf(value.value) as object);
    case 'newPromise':
      return held(t, Promise.prototype);
    case 'regexp':
      return held(t, RegExp.prototype);
    case 'closure':
      return held(t, functionPrototype(value.code));
    case 'class':
      return value.parent ?? held(t, Function.prototype);
    case 'object':
    case 'function': {
      if (isProxy(value.value)) break;
      // The result isn't guarded until it is used, and null has no prototype.
      guardKind(t, value);
      const base = value.source ?? heldFunction(value);
      const above: unknown = Object.getPrototypeOf(value.value);
      return t.read({ kind: 'prototypeOf', base }, above);
    }
    default:
  }
  throw new GraphBreak('unsupported-value', `the prototype of ${kindName(value)}`);
}

function held(t: Tracer, value: object): Variable {
  const { name = 'the host' } = (value.constructor ?? {}) as { readonly name?: string };
  return t.read({ kind: 'held', value, name: `${name}.prototype` }, value);
}
