import { assertNever } from '../../../runtime/errors/invariant.ts';
import { isProxy, plainName } from '../../guards/plain.ts';
import type { Variable } from './variable.ts';

/** Names the kind of a value in the user's words, with an article, as in "an object" and "a Map". */
export function kindName(variable: Variable): string {
  switch (variable.kind) {
    case 'tensor':
      return 'a tensor';
    case 'dynamic':
      return 'a tensor of data-dependent shape';
    case 'constant':
    case 'symbolic':
      return nameOfPrimitive(variable.value);
    case 'scalar':
      return `a data-dependent ${variable.type}`;
    case 'text':
      return 'text with a data-dependent number';
    case 'union':
      return 'one of several values, which a data-dependent decision selects';
    case 'list':
      return 'an array of data-dependent length';
    case 'object':
      return nameOfObject(variable.value);
    case 'function':
    case 'closure':
    case 'bound':
      return 'a function';
    case 'class':
      return 'a class';
    case 'newArray':
      if (variable.isArguments) return 'an arguments object';
      return variable.growable ? 'an array of data-dependent length' : 'an array';
    case 'newObject':
      return 'an object';
    case 'newCollection':
      return `a ${variable.type}`;
    case 'newTypedArray':
      return nameOfObject(variable.data);
    case 'newHost':
      return nameOfObject(variable.value);
    case 'newPromise':
      return 'a promise';
    case 'regexp':
      return 'a regular expression';
    case 'cell':
    case 'uninitialized':
      return 'a variable';
    case 'iterator':
    case 'iteratorRecord':
      return 'an iterator';
    case 'generator':
      return 'a generator';
    default:
      return assertNever(variable, 'variable');
  }
}

function nameOfPrimitive(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a ${typeof value}`;
}

/** Runs no user code: neither traps nor getters. */
function nameOfObject(value: object): string {
  if (isProxy(value)) return 'a Proxy';
  const above: unknown = Object.getPrototypeOf(value);
  if (above === null || isProxy(above)) return 'an object';
  const type: unknown = Object.getOwnPropertyDescriptor(above, 'constructor')?.value;
  const name = typeof type === 'function' ? plainName(type) : undefined;
  if (!name || name === 'Object') return 'an object';
  return /^[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`;
}
