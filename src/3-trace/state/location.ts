import type { Reg } from '../../vm/bytecode/instructions.ts';
import type { ListTreeSpec } from '../variables/growable-list.ts';
import type { NewArrayVariable, Variable } from '../variables/variable.ts';
import type { Tracer } from './tracer.ts';

/** Something that holds a variable and may hold another one later. */
export interface Location {
  readonly key: string;
  /** For errors: the variable's name, or what it belongs to. */
  readonly name: string;
  /** The register, if the location is one: code that doesn't read it afterwards doesn't need its value. */
  readonly register: Reg | null;
  /** An iteration is the language's own: it matters only as long as a register holds it. */
  readonly iteration?: Variable;
  set(t: Tracer, value: Variable): void;
  /** The value where the trace has written none: of something that existed before. */
  outside?(t: Tracer): Variable;
  /** One value for what several paths leave, where they don't contradict one another. */
  agreed?(values: readonly Variable[]): Variable | undefined;
  /** `.grad` of a pre-existing tensor. */
  readonly isGradient?: boolean;
  /** An element, property or entry: it may be missing on some paths. */
  readonly part?: 'element' | 'property' | 'entry';
  /** The array that it is an element of, or whose content only the program knows. */
  readonly array?: NewArrayVariable;
  /** The list tree spec of its elements, where only the program knows how many there are. */
  readonly form?: ListTreeSpec;
}

export type Add = (location: Location, value: Variable) => void;

/** A location whose change can't be told as a value. */
export const fixed: Location['set'] = () => {
  throw new Error('a fixed location is set');
};

export function isFixed(location: Location): boolean {
  return location.set === fixed;
}
