/** One variable for two that came from different ways through the code. */

import type { DType } from '../../../runtime/tensor/dtype.ts';
import { formatSpec } from '../../../runtime/tensor/meta.ts';
import { sameShape } from '../../../runtime/tensor/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { constantOf } from '../facts.ts';
import type { Tracer } from '../tracer.ts';
import {
  type ConstantVariable,
  known,
  type ScalarVariable,
  type SymbolicVariable,
  type TensorVariable,
  type Variable,
} from '../variable.ts';

export type LeafVariable = TensorVariable | ScalarVariable | ConstantVariable | SymbolicVariable;

/** A place in a structure whose value depends on the way that was taken. */
export interface Leaf {
  readonly kind: 'tensor' | 'number' | 'boolean';
  /** Per way; null where nobody can read it. */
  readonly values: readonly (LeafVariable | null)[];
}

/** A structure with its leaves taken out; `build` puts the joined ones in. */
export interface Unified {
  readonly leaves: readonly Leaf[];
  build(joined: readonly Variable[]): Variable;
}

/** The ways differ by more than the data of tensors and numbers. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** Throws Mismatch. A way for which `null` is given never has its value read. */
export function unify(t: Tracer, ways: readonly (Variable | null)[]): Unified {
  const leaves: Leaf[] = [];
  const build = unifyInto(t, ways, leaves, new Map());
  return { leaves, build: (joined) => build(joined, new Map()) };
}

/** `made`: what this building has made so far, by the structures it is made of. */
type Build = (joined: readonly Variable[], made: Map<Build, Variable>) => Variable;

function unifyInto(
  t: Tracer,
  ways: readonly (Variable | null)[],
  leaves: Leaf[],
  seen: Map<Variable, Build>,
): Build {
  const present = ways.filter((way): way is Variable => way !== null);
  const [first] = present;
  if (!first) return () => known(undefined);
  // What two ways have in common they both found, unless only one of them counts.
  const shared = present.length === ways.length || !isRegionValue(first);
  if (shared && present.every((way) => isSame(t, way, first))) return () => first;
  const kind = leafKind(t, present);
  if (kind) {
    const index = leaves.push({ kind, values: ways as Leaf['values'] }) - 1;
    return (joined) => joined[index]!;
  }
  return unifyStructure(t, ways, first, leaves, seen);
}

/** A result of an op belongs to the way that computed it, and must be handed out. */
function isRegionValue(variable: Variable): boolean {
  if (variable.kind === 'scalar') return true;
  return variable.kind === 'tensor' && !variable.source;
}

export function isSame(t: Tracer, a: Variable, b: Variable): boolean {
  if (a === b) return true;
  if (a.kind === 'constant' && b.kind === 'constant') {
    return Object.is(constantOf(t, a), constantOf(t, b));
  }
  if (a.kind === 'tensor' && b.kind === 'tensor') return a.traced !== null && a.traced === b.traced;
  if (a.kind === 'scalar' && b.kind === 'scalar') return a.tensor === b.tensor;
  if (a.kind === 'object' && b.kind === 'object') return a.value === b.value;
  if (a.kind === 'function' && b.kind === 'function') return a.value === b.value;
  return a.kind === 'uninitialized' && b.kind === 'uninitialized';
}

function leafKind(t: Tracer, ways: readonly Variable[]): Leaf['kind'] | undefined {
  if (ways.every((way) => way.kind === 'tensor')) return sameMeta(t, ways);
  const types = new Set(ways.map((way) => hostType(t, way)));
  const [type] = types;
  return types.size === 1 && (type === 'number' || type === 'boolean') ? type : undefined;
}

function hostType(t: Tracer, variable: Variable): string {
  if (variable.kind === 'scalar') return variable.type;
  if (variable.kind === 'symbolic') return typeof variable.value;
  return variable.kind === 'constant' ? typeof constantOf(t, variable) : variable.kind;
}

function sameMeta(t: Tracer, ways: readonly TensorVariable[]): 'tensor' {
  const [first, ...others] = ways.map((way) => t.use(way)) as [Tensor, ...Tensor[]];
  for (const other of others) {
    const same = first.dtype === other.dtype && sameShape(first.shape, other.shape);
    if (!same) throw new Mismatch(`${formatSpec(first)} and ${formatSpec(other)}`);
    if (first.device !== other.device) {
      throw new Mismatch(`tensors on ${first.device.name} and ${other.device.name}`);
    }
  }
  return 'tensor';
}

function unifyStructure(
  t: Tracer,
  ways: readonly (Variable | null)[],
  first: Variable,
  leaves: Leaf[],
  seen: Map<Variable, Build>,
): Build {
  const existing = seen.get(first);
  if (existing) return existing;
  // An object that is reached twice is made once.
  const once = (make: Build): Build => {
    const build: Build = (joined, made) => {
      const existing = made.get(build);
      if (existing) return existing;
      const variable = make(joined, made);
      made.set(build, variable);
      return variable;
    };
    seen.set(first, build);
    return build;
  };
  const part = (pick: (way: Variable) => Variable | undefined): Build =>
    unifyInto(
      t,
      ways.map((way) => (way ? (pick(way) ?? known(undefined)) : null)),
      leaves,
      seen,
    );
  switch (first.kind) {
    case 'newArray': {
      const lengths = ways.map((way) => (way?.kind === 'newArray' ? way.elements.length : -1));
      expectEqual(ways, lengths, (length) => (length < 0 ? 'no array' : `${length} elements`));
      const parts = first.elements.map((_, i) =>
        part((way) => (way.kind === 'newArray' ? way.elements[i] : undefined)),
      );
      return once((joined, made) => ({
        kind: 'newArray',
        elements: parts.map((each) => each(joined, made)),
      }));
    }
    case 'newObject': {
      const keys = ways.map((way) =>
        way?.kind === 'newObject' ? [...way.entries.keys()].join(', ') : 'no object',
      );
      expectEqual(ways, keys, (text) => `{ ${text} }`);
      const types = ways.map((way) => (way?.kind === 'newObject' ? way.prototype?.value : null));
      expectEqual(ways, types, (type) => `an object made by ${type?.constructor.name ?? 'Object'}`);
      const parts = [...first.entries.keys()].map(
        (key) =>
          [
            key,
            part((way) => (way.kind === 'newObject' ? way.entries.get(key) : undefined)),
          ] as const,
      );
      return once((joined, made) => ({
        ...first,
        entries: new Map(parts.map(([key, each]) => [key, each(joined, made)])),
      }));
    }
    case 'cell': {
      const kinds = ways.map((way) => way?.kind ?? '');
      expectEqual(ways, kinds, (kind) => kind);
      const content = part((way) => (way.kind === 'cell' ? way.content : undefined));
      return once((joined, made) => ({ kind: 'cell', content: content(joined, made) }));
    }
    default:
      throw new Mismatch(ways.flatMap((way) => (way ? [describe(t, way)] : [])).join(' and '));
  }
}

function expectEqual<T>(
  ways: readonly (Variable | null)[],
  facts: readonly T[],
  print: (fact: T) => string,
): void {
  const present = facts.filter((_, i) => ways[i] !== null);
  const other = present.find((fact) => fact !== present[0]);
  if (other !== undefined) throw new Mismatch(`${print(present[0]!)} and ${print(other)}`);
}

/** For a person: what kind of value it is. */
export function describe(t: Tracer, variable: Variable): string {
  switch (variable.kind) {
    case 'tensor':
      return `a ${formatSpec(t.use(variable))} tensor`;
    case 'constant':
      return String(constantOf(t, variable));
    case 'scalar':
      return `a ${variable.type}`;
    case 'newArray':
      return `an array of ${variable.elements.length}`;
    case 'uninitialized':
      return 'nothing';
    default:
      return `a ${variable.kind}`;
  }
}

/** The dtype of a leaf in a program; of a tensor it is the tensor's own. */
export const scalarDType: Record<'number' | 'boolean', DType> = {
  number: 'float64',
  boolean: 'bool',
};
