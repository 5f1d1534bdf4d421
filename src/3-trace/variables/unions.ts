/** Unions, of whose options the program chooses one, as operands of instructions. */

import { absent, type UnionVariable, type Variable } from './variable.ts';

/** Thrown where an instruction needs to know which option was chosen, before it has changed anything. */
export class UnionMet extends Error {
  override readonly name = 'UnionMet';
  readonly #union: UnionVariable | (() => UnionVariable);

  /** A union that isn't there yet is made where the instruction begins. */
  constructor(union: UnionVariable | (() => UnionVariable)) {
    super('a union is met');
    this.#union = union;
  }

  get union(): UnionVariable {
    return typeof this.#union === 'function' ? this.#union() : this.#union;
  }
}

/** The value itself on a path on which it is known which one it is; else still the union. */
export function resolved(variable: Variable): Variable {
  let at = variable;
  while (at.kind === 'union' && at.selector.chosen !== null) at = at.options[at.selector.chosen]!;
  return at;
}

/** A value whose kind matters: throws UnionMet where it isn't known. */
export function specialized(variable: Variable): Exclude<Variable, UnionVariable> {
  const value = resolved(variable);
  if (value.kind === 'union') throw new UnionMet(value);
  return value;
}

/** An element or property that may be missing: undefined where it is. Throws UnionMet. */
export function present(variable: Variable | undefined): Variable | undefined {
  if (!variable) return undefined;
  const value = resolved(variable);
  if (value.kind === 'union' && mayBeAbsent(value)) throw new UnionMet(value);
  return value === absent ? undefined : value;
}

export function mayBeAbsent(variable: Variable): boolean {
  const value = resolved(variable);
  return value === absent || (value.kind === 'union' && value.options.some(mayBeAbsent));
}
