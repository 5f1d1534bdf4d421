/**
 * Operations that create text from device scalars, and in a full graph from outer numbers that change between calls:
 * `${n}`, `'a' + n`, `n.toFixed(2)`, `text.padStart(8)`.
 */

import {
  isNumberFormat,
  isTextCall,
  type NumberFormat,
  type TextPart,
} from '../../../../runtime/program/number-text.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { textBreak } from '../../variables/text-variable.ts';
import type {
  DeviceScalar,
  SymbolicVariable,
  TextVariable,
  Variable,
} from '../../variables/variable.ts';
import { changingNumber, typeOfScalar } from './scalars.ts';

type Parts = readonly TextPart<DeviceScalar>[];

const asString: NumberFormat = { method: 'toString', digits: null };

/** `${a}${b}` with at least one number that a run formats, or text that contains one; undefined otherwise. */
export function textOfAll(t: Tracer, values: readonly Variable[]): TextVariable | undefined {
  const isOfRun = values.some(({ kind }) => kind === 'scalar' || kind === 'text');
  const hasOuter = values.some(({ kind }) => kind === 'symbolic');
  if (!isOfRun && !(hasOuter && formatsOuterNumbers(t))) return undefined;
  const parts: TextPart<DeviceScalar>[] = [];
  for (const value of values) {
    if (value.kind === 'scalar') parts.push({ value, format: asString });
    else if (value.kind === 'text') parts.push(...value.parts);
    else if (value.kind === 'constant' || value.kind === 'symbolic') {
      const changing = value.kind === 'symbolic' ? changingNumber(t, value) : undefined;
      if (changing) {
        parts.push({ value: changing, format: asString });
        continue;
      }
      const constant = constantOf(t, value);
      // A symbol throws when converted.
      if (typeof constant === 'symbol') return undefined;
      parts.push(String(constant));
    } else return undefined;
  }
  // Booleans have few values, so they are guarded instead.
  if (parts.every((part) => typeof part === 'string')) return undefined;
  if (!isOfRun) t.control.formatsOuterNumbers = true;
  return { kind: 'text', parts: merged(parts) };
}

/**
 * Whether outer numbers are formatted by each run, since a value guard would need a trace for each. Where the graph may
 * end, text is made between graphs; other devices can't be read for it.
 */
function formatsOuterNumbers(t: Tracer): boolean {
  const { policy, plans } = t.control;
  return policy === 'always' && !plans.readsTexts && t.device.kind === 'cpu';
}

/** Joins adjacent known parts, so that equal texts have equal parts. */
function merged(parts: Parts): Parts {
  const result: TextPart<DeviceScalar>[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (typeof part === 'string' && typeof last === 'string') result.push(result.pop() + part);
    else if (part !== '') result.push(part);
  }
  return result;
}

/** `a + b` of text and a device scalar or text that contains one. */
export function concatenated(t: Tracer, a: Variable, b: Variable): TextVariable | undefined {
  return isText(a) || isText(b) ? textOfAll(t, [a, b]) : undefined;
}

const isText = (variable: Variable): boolean =>
  variable.kind === 'text' || (variable.kind === 'constant' && typeof variable.value === 'string');

/** `String(n)`, `n.toFixed(2)`, `text.padStart(8)`; undefined for other calls. */
export function textCall(
  t: Tracer,
  fn: { readonly name: string },
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  if (fn === String && args.length > 0) return textOfAll(t, args.slice(0, 1));
  if (receiver.kind !== 'scalar' && receiver.kind !== 'text' && receiver.kind !== 'symbolic') {
    return undefined;
  }
  const constants = args.map((arg) => (arg.kind === 'constant' ? constantOf(t, arg) : null));
  while (constants.length > 0 && constants.at(-1) === undefined) constants.pop();
  if (receiver.kind === 'text') return methodOfText(fn, receiver, constants);
  const owner = typeOfScalar(t, receiver) === 'number' ? Number.prototype : Boolean.prototype;
  const [digits = null] = constants;
  if (!isMethodOf(owner, fn) || !isNumberFormat(fn.name, digits)) return undefined;
  if (digits === null && constants.length > 0) return undefined;
  const value = receiver.kind === 'symbolic' ? outerNumber(t, receiver) : receiver;
  const format = { method: fn.name, digits } as NumberFormat;
  return value && { kind: 'text', parts: [{ value, format }] };
}

/** Returns an outer number that each run formats; undefined if it is guarded. */
function outerNumber(t: Tracer, variable: SymbolicVariable): DeviceScalar | undefined {
  const number = formatsOuterNumbers(t) ? changingNumber(t, variable) : undefined;
  if (number) t.control.formatsOuterNumbers = true;
  return number;
}

function methodOfText(
  fn: { readonly name: string },
  text: TextVariable,
  args: readonly unknown[],
): Variable {
  if (isMethodOf(String.prototype, fn)) {
    if (fn.name === 'toString' || fn.name === 'valueOf') return text;
    if (isTextCall(fn.name, args)) {
      const part = { method: fn.name, of: text.parts, args: args as (string | number)[] };
      return { kind: 'text', parts: [part] };
    }
  }
  throw textBreak(text, `is asked for ${fn.name}()`);
}

const isMethodOf = (owner: object, fn: { readonly name: string }): boolean =>
  Object.getOwnPropertyDescriptor(owner, fn.name)?.value === fn;
