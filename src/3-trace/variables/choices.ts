/** Values of which the program chooses one, as instructions meet them. */

import { absent, type ChoiceVariable, type Variable } from './variable.ts';

/** Thrown where an instruction needs to know which option was chosen, before it has changed anything. */
export class ChoiceMet extends Error {
  override readonly name = 'ChoiceMet';
  readonly #choice: ChoiceVariable | (() => ChoiceVariable);

  /** A choice that isn't there yet is made where the instruction begins. */
  constructor(choice: ChoiceVariable | (() => ChoiceVariable)) {
    super('a choice is met');
    this.#choice = choice;
  }

  get choice(): ChoiceVariable {
    return typeof this.#choice === 'function' ? this.#choice() : this.#choice;
  }
}

/** The value itself on a way on which it is known which one it is; else still the choice. */
export function resolved(variable: Variable): Variable {
  let at = variable;
  while (at.kind === 'choice' && at.selector.chosen !== null) at = at.options[at.selector.chosen]!;
  return at;
}

/** A value whose kind matters: throws ChoiceMet where it isn't known. */
export function settled(variable: Variable): Exclude<Variable, ChoiceVariable> {
  const value = resolved(variable);
  if (value.kind === 'choice') throw new ChoiceMet(value);
  return value;
}

/** An element or property that may be missing: undefined where it is. Throws ChoiceMet. */
export function present(variable: Variable | undefined): Variable | undefined {
  if (!variable) return undefined;
  const value = resolved(variable);
  if (value.kind === 'choice' && mayBeAbsent(value)) throw new ChoiceMet(value);
  return value === absent ? undefined : value;
}

export function mayBeAbsent(variable: Variable): boolean {
  const value = resolved(variable);
  return value === absent || (value.kind === 'choice' && value.options.some(mayBeAbsent));
}
