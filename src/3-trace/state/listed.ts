/** Objects that are elements of arrays of data-dependent length, which store the objects' parts. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { resolved } from '../variables/unions.ts';
import type { NewArrayVariable, NewObjectVariable, Variable } from '../variables/variable.ts';
import type { Tracer } from './tracer.ts';

/** Marks the value and everything in it: changing it would also have to change the array. */
export function markListed(t: Tracer, variable: Variable): void {
  const value = resolved(variable);
  if (value.kind === 'union') for (const option of value.options) markListed(t, option);
  if (!isStructure(value) || value.listed) return;
  t.journal.set(value, 'listed', true);
  if (value.kind === 'newObject') for (const part of value.entries.values()) markListed(t, part);
  else if (!value.growable) for (const part of value.elements) markListed(t, part);
}

export function isListed(variable: Variable): boolean {
  return isStructure(variable) && variable.listed === true;
}

/** Must be called before an object is changed. */
export function expectUnlisted(variable: Variable): void {
  if (!isListed(variable)) return;
  throw new GraphBreak(
    'unbacked-list',
    'an object is changed that is or was an element of an array that grows in a loop of the program',
  );
}

/** Must be called before an object's identity matters. */
export function expectIdentity(variable: Variable): void {
  if (variable.kind === 'tensor' && variable.isIdentityUnknown) {
    throw new GraphBreak(
      'unbacked-list',
      'a tensor that a branch, a loop or an array of data-dependent length produces is compared by identity',
    );
  }
  if (!isListed(variable)) return;
  throw new GraphBreak(
    'unbacked-list',
    'elements of an array of data-dependent length are compared by identity',
  );
}

function isStructure(variable: Variable): variable is NewArrayVariable | NewObjectVariable {
  return variable.kind === 'newArray' || variable.kind === 'newObject';
}
