/** Unions as operands of instructions. */

import { absent, type UnionVariable, type Variable } from './variable.ts';

/** Thrown when an instruction needs to know a union's option. The instruction has changed nothing yet. */
export class UnionMet extends Error {
  override readonly name = 'UnionMet';
  readonly #union: UnionVariable | (() => UnionVariable);

  /** A function creates the union at the start of the instruction. */
  constructor(union: UnionVariable | (() => UnionVariable)) {
    super('a union is met');
    this.#union = union;
  }

  get union(): UnionVariable {
    return typeof this.#union === 'function' ? this.#union() : this.#union;
  }
}

/** Returns the chosen option if the current path assumes one; otherwise the union itself. */
export function resolved(variable: Variable): Variable {
  let at = variable;
  while (at.kind === 'union' && at.selector.chosen !== null) at = at.options[at.selector.chosen]!;
  return at;
}

/** Returns a value whose kind is known. Throws UnionMet for an undecided union. */
export function specialized(variable: Variable): Exclude<Variable, UnionVariable> {
  if (variable.kind !== 'union') return variable;
  const value = resolved(variable);
  if (value.kind === 'union') throw new UnionMet(value);
  return value;
}

/** Returns the element or property; undefined if it is absent. Throws UnionMet if that is undecided. */
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
