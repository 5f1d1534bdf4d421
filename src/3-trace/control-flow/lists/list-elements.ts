/** Converts elements to the lists that store their leaves, and back. */

import {
  isContiguousMeta,
  sameSpec,
  type TensorSpec,
} from '../../../../runtime/device/tensor-meta.ts';
import { bind1 } from '../../../../runtime/ops/core/bind.ts';
import { contiguous } from '../../../../runtime/ops/movement/movement.ts';
import { elementSpec, listOf } from '../../../../runtime/program/list-ops.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { TapeMismatch } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import type {
  GrowableList,
  LeafForm,
  ListTreeSpec,
  ListVariable,
} from '../../variables/growable-list.ts';
import { specialized } from '../../variables/unions.ts';
import {
  absent,
  type DeviceScalar,
  type NewArrayVariable,
  type NewObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import {
  asNumber,
  asTruth,
  constantTensor,
  scalarBinary,
  typeOfScalar,
} from '../numbers/scalars.ts';
import { sizeGuess } from '../numbers/size-guess.ts';
import {
  type Column,
  columnsOf,
  formText,
  isSameValue,
  unlike,
  unlistable,
} from './list-tree-spec.ts';

export function lengthScalar(t: Tracer, length: number): DeviceScalar {
  return { kind: 'scalar', type: 'number', tensor: constantTensor(t, length, t.device) };
}

/** Returns the lists for known elements. Throws a graph break for an element of another form. */
export function growableOf(
  t: Tracer,
  elements: readonly Variable[],
  form: ListTreeSpec,
): GrowableList {
  const columns = columnsOf(form);
  // If elements contain no tensors or numbers, no list knows their count.
  if (columns.length === 0)
    throw unlistable(elements[0] ?? { kind: 'uninitialized', source: null });
  const rows = elements.map((element) => leavesOf(t, form, element));
  const lists = columns.map(({ of, depth, spec }, i): ListVariable => {
    const items = rows.map((row) => row[i]!);
    return { kind: 'list', tensor: listOfTensors(t, items, { depth, spec }), of, depth };
  });
  return { form, lists, length: lengthScalar(t, elements.length) };
}

/** Returns a list of graph values, all of the same spec. */
export function listOfTensors(
  t: Tracer,
  items: readonly Tensor[],
  column: Pick<Column, 'depth' | 'spec'>,
): Tensor {
  if (items.length === 0) return listWithout(t, column);
  const list = t.perform<Tensor>([...items], (elements) => {
    const held = elements.map((item) => contiguous(item as Tensor));
    for (const item of held) expectAlike(held[0]!, item);
    return bind1(listOf, held, { dtype: held[0]!.dtype, shape: [...held[0]!.shape] });
  });
  noteCopied(t, list, items);
  return list;
}

/**
 * Returns the tensor as an element of the list. Throws TapeMismatch if it is none: elements that had one spec while
 * tracing may differ for other sizes.
 */
export function asElement(list: Tensor, value: Tensor): Tensor {
  const element = contiguous(value);
  expectAlike(elementSpec(list), element);
  return element;
}

/** Throws TapeMismatch for different dtypes or shapes. */
export function expectAlike(one: TensorSpec, other: TensorSpec): void {
  if (!sameSpec(one, other)) throw new TapeMismatch();
}

/** Records the items of which the list has contiguous copies. */
export function noteCopied(t: Tracer, list: Tensor, items: readonly Tensor[]): void {
  const strided = items.filter((item) => !isContiguousMeta(item));
  if (strided.length > 0) t.control.copied.note(t.builder, strided, [list]);
}

/** Returns an empty list. The spec of its elements comes from a sample that may not exist in the program. */
function listWithout(t: Tracer, { depth, spec }: Pick<Column, 'depth' | 'spec'>): Tensor {
  const { dtype, shape } = spec;
  const sizes = shape.map((size, i) => (i < depth ? size : sizeGuess(t, size)));
  return t.perform<Tensor>([sizes], ([dims]) =>
    bind1(listOf, [], { dtype, shape: dims as number[] }),
  );
}

/**
 * Returns the element's value for each list. Throws a graph break that names both lines if the element has another
 * form. Throws UnionMet.
 */
export function leavesOf(t: Tracer, form: ListTreeSpec, element: Variable): Tensor[] {
  const found: Tensor[] = [];
  if (!collect(t, form, element, found)) throw unlike(t, form, element);
  return found;
}

/** Collects the leaves; returns false for a value of another form. The run rejects reads past the end. */
function collect(t: Tracer, form: ListTreeSpec, variable: Variable, found: Tensor[]): boolean {
  const value = specialized(variable);
  const isMissing = value === absent || value === undefinedVariable;
  if (isMissing && form.kind !== 'same') {
    throw new GraphBreak('throw', 'an array that grows gets an element that may be missing');
  }
  switch (form.kind) {
    case 'leaf': {
      const tensor = leafTensor(t, form, value);
      if (value.kind === 'tensor' && value.isKept) t.effects.keepsElements = true;
      if (tensor) found.push(tensor);
      return tensor !== null;
    }
    case 'same':
      return isSameValue(t, form.value, value);
    case 'array':
      return (
        isKnownArray(value) &&
        value.elements.length === form.parts.length &&
        form.parts.every((part, i) => collect(t, part, value.elements[i]!, found))
      );
    case 'object': {
      if (value.kind !== 'newObject' || value.errorType || value.order || value.traits)
        return false;
      const keys = [...value.entries.keys()];
      return (
        value.prototype?.value === form.prototype?.value &&
        keys.length === form.entries.length &&
        form.entries.every(([key, part], i) => {
          return key === keys[i] && collect(t, part, value.entries.get(key)!, found);
        })
      );
    }
    case 'list': {
      if (value.kind !== 'newArray' || value.isArguments || value.own) return false;
      const growable = value.growable ?? growableOf(t, value.elements, form.of);
      if (formText(t, growable.form) !== formText(t, form.of)) return false;
      found.push(...growable.lists.map(({ tensor }) => tensor), asNumber(t, growable.length));
      return true;
    }
  }
}

function isKnownArray(value: Variable): value is NewArrayVariable {
  return value.kind === 'newArray' && !value.growable && !value.isArguments && !value.own;
}

function leafTensor(t: Tracer, { of, spec }: LeafForm, value: Variable): Tensor | null {
  if (of === 'tensor') {
    const tensor = value.kind === 'tensor' ? t.use(value) : null;
    return tensor && sameSpec(tensor, spec) ? tensor : null;
  }
  if (typeOfScalar(t, value) !== of) return null;
  if (value.kind === 'scalar') return of === 'boolean' ? asTruth(t, value) : asNumber(t, value);
  if (value.kind === 'symbolic') {
    return (scalarBinary(t, '+', lengthScalar(t, 0), value) as DeviceScalar).tensor;
  }
  return constantTensor(t, (value as { readonly value: number | boolean }).value, t.device);
}

/** Returns the element with these graph values as leaves. */
export function elementOf(
  t: Tracer,
  { form, lists }: GrowableList,
  leaves: readonly Tensor[],
): Variable {
  let next = 0;
  const build = (part: ListTreeSpec): Variable => {
    switch (part.kind) {
      case 'leaf': {
        const tensor = leaves[next++]!;
        if (part.of !== 'tensor') return { kind: 'scalar', type: part.of, tensor };
        return Object.assign(t.result(tensor), { isIdentityUnknown: true });
      }
      case 'same':
        return part.value;
      case 'array':
        return { kind: 'newArray', elements: part.parts.map(build), listed: true };
      case 'object': {
        const entries = part.entries.map(([key, each]) => [key, build(each)] as const);
        const { prototype } = part;
        const object: NewObjectVariable = {
          kind: 'newObject',
          entries: new Map(entries),
          listed: true,
        };
        return prototype === undefined ? object : { ...object, prototype };
      }
      case 'list': {
        const inner = columnsOf(part.of).map(({ of, depth }): ListVariable => {
          return { kind: 'list', tensor: leaves[next++]!, of, depth };
        });
        const length: DeviceScalar = { kind: 'scalar', type: 'number', tensor: leaves[next++]! };
        return nested({ form: part.of, lists: inner, length });
      }
    }
  };
  const element = build(form);
  if (next !== lists.length) throw new GraphBreak('unbacked-list', 'an element lacks a part');
  return element;
}

function nested(growable: GrowableList): NewArrayVariable {
  return { ...growableArray(growable), listed: true };
}

/** Returns an array that consists of lists only. */
export function growableArray(growable: GrowableList): NewArrayVariable {
  return { kind: 'newArray', elements: missingElements, growable };
}

/** Breaks the graph when code needs the elements one by one. */
export const missingElements: Variable[] = new Proxy([], {
  get() {
    throw unknownLength();
  },
  ownKeys() {
    throw unknownLength();
  },
});

export function unknownLength(): GraphBreak {
  return new GraphBreak(
    'unbacked-list',
    'an array of data-dependent length is used where its elements are needed one by one',
  );
}

/** `how`: the use for which the method needs its elements. */
export function needsElements(method: string, how = ''): GraphBreak {
  return new GraphBreak(
    'unbacked-list',
    `${method}() of an array that grows in a loop of the program${how} needs its elements one by one: go through them in a loop`,
  );
}
