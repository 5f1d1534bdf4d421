import type { Reg } from '../../vm/bytecode/instructions.ts';
import type { ListTreeSpec } from '../variables/growable-list.ts';
import type { NewArrayVariable, Variable } from '../variables/variable.ts';
import type { Tracer } from './tracer.ts';

/** A location that contains a variable and can be reassigned. */
export interface Location {
  readonly key: string;
  /** A name for errors: the variable's name, or the owner of the location. */
  readonly name: string;
  /** The register, if the location is one: its value is needed only if later code reads it. */
  readonly register: Reg | null;
  /** A language-level iteration, which matters only while it is in a register. */
  readonly iteration?: Variable;
  set(t: Tracer, value: Variable): void;
  /** Returns the pre-existing value of a location that the trace hasn't written. */
  outside?(t: Tracer): Variable;
  /** Returns one value for the values of several paths, if they don't conflict. */
  agreed?(values: readonly Variable[]): Variable | undefined;
  /** True for `.grad` of a pre-existing tensor. */
  readonly isGradient?: boolean;
  /** Set for an element, property or entry, which may be absent on some paths. */
  readonly part?: 'element' | 'property' | 'entry';
  /** The array that contains the element, or the array whose content is data-dependent. */
  readonly array?: NewArrayVariable;
  /** The list tree spec of the elements, if their number is data-dependent. */
  readonly form?: ListTreeSpec;
}

export type Add = (location: Location, value: Variable) => void;

/** Marks a location whose changes can't be expressed as values. */
export const fixed: Location['set'] = () => {
  throw new Error('a fixed location is set');
};

export function isFixed(location: Location): boolean {
  return location.set === fixed;
}
