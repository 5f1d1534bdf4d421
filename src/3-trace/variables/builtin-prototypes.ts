import { collectionPrototypes } from '../../guards/collection-slots.ts';
import { functionPrototype } from '../../vm/language/function-prototypes.ts';
import { helperPrototype } from './helper-prototype.ts';
import { iteratedBy } from './iterated-by.ts';
import type { Variable } from './variable.ts';

const generatorPrototype = Object.getPrototypeOf(function* () {}.prototype) as object;
const iteratorPrototypes = {
  array: Object.getPrototypeOf([].values()) as object,
  map: Object.getPrototypeOf(new Map().values()) as object,
  set: Object.getPrototypeOf(new Set().values()) as object,
} as const;

/** A value created in the trace that inherits from a built-in prototype. */
export type BuiltinVariable = Extract<
  Variable,
  {
    readonly kind:
      | 'scalar'
      | 'text'
      | 'newCollection'
      | 'iterator'
      | 'generator'
      | 'regexp'
      | 'newTypedArray'
      | 'newHost'
      | 'newPromise'
      | 'closure'
      | 'bound';
  }
>;

/** Returns the prototype, whose properties users may have replaced. */
export function builtinPrototype(base: BuiltinVariable): object {
  switch (base.kind) {
    case 'scalar':
      return base.type === 'number' ? Number.prototype : Boolean.prototype;
    case 'text':
      return String.prototype;
    case 'newCollection':
      return collectionPrototypes[base.type];
    case 'iterator':
      return iteratorPrototypes[iteratedBy(base)];
    case 'generator':
      return base.helper ? helperPrototype! : generatorPrototype;
    case 'regexp':
      return RegExp.prototype;
    case 'newTypedArray':
      return Object.getPrototypeOf(base.data) as object;
    case 'newHost':
      return Object.getPrototypeOf(base.value) as object;
    case 'newPromise':
      return Promise.prototype;
    case 'closure':
      return functionPrototype(base.code);
    case 'bound':
      return Function.prototype;
  }
}
