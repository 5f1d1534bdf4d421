/** The structure of the elements of arrays of data-dependent length. */

import { formatSpec, sameSpec, type TensorSpec } from '../../../../runtime/device/tensor-meta.ts';
import { formatPosition, type UserPosition } from '../../../../runtime/errors/position.ts';
import { listSpec } from '../../../../runtime/program/list-ops.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, isSame } from '../../state/value-guards.ts';
import type { LeafForm, ListTreeSpec } from '../../variables/growable-list.ts';
import { kindName } from '../../variables/kind-names.ts';
import { resolved } from '../../variables/unions.ts';
import { absent, type Variable } from '../../variables/variable.ts';

/** Returns the list tree spec of a value; null if no list can store it. */
export function formOf(t: Tracer, variable: Variable, at = t.position()): ListTreeSpec | null {
  const value = resolved(variable);
  const scalar = (of: 'number' | 'boolean'): LeafForm => ({
    kind: 'leaf',
    of,
    spec: { dtype: of === 'boolean' ? 'bool' : 'float64', shape: [] },
    at,
  });
  switch (value.kind) {
    case 'tensor': {
      const { dtype, shape } = t.use(value);
      return { kind: 'leaf', of: 'tensor', spec: { dtype, shape: [...shape] }, at };
    }
    case 'scalar':
      return scalar(value.type);
    case 'symbolic':
      return scalar(typeof value.value as 'number' | 'boolean');
    case 'constant': {
      const type = typeof value.value;
      if (type === 'number' || type === 'boolean') return scalar(type);
      return type === 'symbol' ? null : { kind: 'same', value };
    }
    case 'object':
    case 'function':
      return { kind: 'same', value };
    case 'newArray': {
      if (value.isArguments || value.named || value.fixed || value.own) return null;
      if (value.growable) return { kind: 'list', of: value.growable.form };
      const parts = formsOf(t, value.elements, at);
      return parts && { kind: 'array', parts };
    }
    case 'newObject': {
      if (value.errorType || value.order || value.traits) return null;
      const parts = formsOf(t, [...value.entries.values()], at);
      if (!parts) return null;
      const entries = [...value.entries.keys()].map((key, i) => [key, parts[i]!] as const);
      return { kind: 'object', entries, prototype: value.prototype };
    }
    default:
      return null;
  }
}

function formsOf(
  t: Tracer,
  values: readonly Variable[],
  at: UserPosition | undefined,
): readonly ListTreeSpec[] | null {
  const forms = values.map((value) => formOf(t, value, at));
  return forms.every((form) => form !== null) ? forms : null;
}

/** Returns the list tree spec that covers both forms; null if one array can't contain both. */
export function joinForms(t: Tracer, a: ListTreeSpec, b: ListTreeSpec): ListTreeSpec | null {
  if (a.kind === 'leaf' && b.kind === 'leaf') {
    return a.of === b.of && sameSpec(a.spec, b.spec) ? a : null;
  }
  if (a.kind === 'same' && b.kind === 'same') return isSameValue(t, a.value, b.value) ? a : null;
  if (a.kind === 'object' && b.kind === 'object') {
    const { entries, prototype } = a;
    if (prototype?.value !== b.prototype?.value || !sameKeys(entries, b.entries)) return null;
    const parts = joinEach(
      t,
      entries.map(([, form]) => form),
      b.entries.map(([, form]) => form),
    );
    return (
      parts && { kind: 'object', entries: entries.map(([key], i) => [key, parts[i]!]), prototype }
    );
  }
  if (a.kind === 'array' && b.kind === 'array' && a.parts.length === b.parts.length) {
    const parts = joinEach(t, a.parts, b.parts);
    return parts && { kind: 'array', parts };
  }
  const [some, more] = [elementsOf(a), elementsOf(b)];
  const of = some && more && joinAll(t, [...some, ...more]);
  return of ? { kind: 'list', of } : null;
}

/** Returns the list tree spec that covers all forms; null if one array can't contain them. */
export function joinAll(t: Tracer, [first, ...rest]: readonly ListTreeSpec[]): ListTreeSpec | null {
  if (!first) return null;
  return rest.reduce<ListTreeSpec | null>((so, form) => so && joinForms(t, so, form), first);
}

function joinEach(
  t: Tracer,
  a: readonly ListTreeSpec[],
  b: readonly ListTreeSpec[],
): readonly ListTreeSpec[] | null {
  const parts = a.map((form, i) => joinForms(t, form, b[i]!));
  return parts.every((part) => part !== null) ? parts : null;
}

/** Returns whether two values that aren't leaves are the same. */
export function isSameValue(t: Tracer, a: Variable, b: Variable): boolean {
  if (a.kind !== 'constant' || b.kind !== 'constant') return isSame(t, a, b);
  return Object.is(constantOf(t, a), constantOf(t, b));
}

type Entries = Extract<ListTreeSpec, { kind: 'object' }>['entries'];

const sameKeys = (a: Entries, b: Entries): boolean =>
  a.length === b.length && a.every(([key], i) => key === b[i]![0]);

/** Returns the forms of an array's elements. */
function elementsOf(form: ListTreeSpec): readonly ListTreeSpec[] | null {
  if (form.kind === 'array') return form.parts;
  return form.kind === 'list' ? [form.of] : null;
}

/** A list that stores one leaf of all elements. */
export interface Column {
  readonly of: LeafForm['of'];
  readonly depth: number;
  /** The spec of the list's elements. */
  readonly spec: TensorSpec;
}

/** Returns the leaves of a form, in order. */
export function columnsOf(form: ListTreeSpec): readonly Column[] {
  switch (form.kind) {
    case 'leaf':
      return [{ of: form.of, depth: 0, spec: form.spec }];
    case 'same':
      return [];
    case 'array':
      return form.parts.flatMap(columnsOf);
    case 'object':
      return form.entries.flatMap(([, part]) => columnsOf(part));
    case 'list': {
      const inner = columnsOf(form.of).map(({ of, depth, spec }) => {
        return { of, depth: depth + 1, spec: listSpec(spec) };
      });
      return [...inner, { of: 'number', depth: 0, spec: { dtype: 'float64', shape: [] } }];
    }
  }
}

/** Returns the form as text. Equal forms have equal texts. */
export function formText(t: Tracer, form: ListTreeSpec): string {
  switch (form.kind) {
    case 'leaf':
      return form.of === 'tensor' ? formatSpec(form.spec) : form.of;
    case 'same': {
      const { value } = form;
      if (value.kind !== 'constant') return `the ${value.kind} number ${idOf(value.value)}`;
      return JSON.stringify(constantOf(t, value)) ?? 'undefined';
    }
    case 'array':
      return `[${form.parts.map((part) => formText(t, part)).join(', ')}]`;
    case 'object': {
      const parts = form.entries.map(([key, part]) => `${key}: ${formText(t, part)}`);
      const name = form.prototype ? `${form.prototype.value.constructor.name} ` : '';
      return `${name}{ ${parts.join(', ')} }`;
    }
    case 'list':
      return `any number of ${formText(t, form.of)}`;
  }
}

/** Returns the position of the first element. */
function originOf(form: ListTreeSpec): UserPosition | undefined {
  switch (form.kind) {
    case 'leaf':
      return form.at;
    case 'same':
      return undefined;
    case 'array':
      return form.parts.map(originOf).find((at) => at);
    case 'object':
      return form.entries.map(([, part]) => originOf(part)).find((at) => at);
    case 'list':
      return originOf(form.of);
  }
}

/** Returns the break for an element of another form than the array's, which names both lines. */
export function unlike(t: Tracer, form: ListTreeSpec, variable: Variable): GraphBreak {
  const other = formOf(t, variable);
  if (!other) return unlistable(variable);
  const where = (position: UserPosition | undefined) =>
    position ? ` (${formatPosition(position)})` : '';
  const gets = formText(t, other);
  return new GraphBreak(
    'unbacked-list',
    `an array that grows in a loop of the program holds ${held(t, form)}${where(originOf(form))} and gets ${
      other.kind === 'leaf' ? `a ${gets}${other.of === 'tensor' ? ' tensor' : ''}` : gets
    }${where(t.position())}`,
  );
}

function held(t: Tracer, form: ListTreeSpec): string {
  const text = formText(t, form);
  if (form.kind !== 'leaf') return text;
  return form.of === 'tensor' ? `${text} tensors` : `${text}s`;
}

/** Returns the break for a value that no list can store. */
export function unlistable(variable: Variable): GraphBreak {
  const what = culprit(resolved(variable), '');
  return new GraphBreak(
    'unbacked-list',
    `an array that grows in a loop of the program holds something other than tensors, numbers, and arrays and objects of them${what}`,
  );
}

/** Returns the path and kind of the part that can't be stored. */
function culprit(value: Variable, path: string): string {
  const within = (parts: readonly (readonly [string, Variable])[]): string => {
    const found = parts.map(([key, part]) => culprit(resolved(part), `${path}${key}`));
    return found.find((text) => text !== '') ?? '';
  };
  switch (value.kind) {
    case 'newArray':
      if (value.growable) return '';
      return within(value.elements.map((part, i) => [`[${i}]`, part] as const));
    case 'newObject':
      return within([...value.entries].map(([key, part]) => [`.${key}`, part] as const));
    case 'tensor':
    case 'scalar':
    case 'symbolic':
    case 'object':
    case 'function':
      return '';
    case 'constant':
      return value === absent ? ': an element that is missing on some paths' : '';
    case 'union':
      return `: ${path || 'it'} is ${value.from}`;
    default:
      return `: ${path || 'it'} is ${kindName(value)}`;
  }
}
