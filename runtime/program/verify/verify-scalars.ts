/** Verifies control ops without regions. */

import type { TensorMeta } from '../../device/tensor-meta.ts';
import { isNumberCall } from '../../ops/numbers/number-calls.ts';
import { scalarFunctions } from '../../ops/numbers/scalar-functions.ts';
import { isNumberFormat, isTextCall } from '../number-text.ts';
import { specialConstants } from '../print-part.ts';
import type { ControlCheck } from './control-check.ts';

const methods: readonly unknown[] = ['log', 'info', 'warn', 'error', 'debug'];

export function verifyAssert(check: ControlCheck): void {
  const [test] = check.inputs;
  if (!test || check.inputs.length !== 1) check.fail('no condition', 'a boolean');
  check.expectSingle(test);
  check.expectNoResults();
}

export function verifyHostNumber(check: ControlCheck): void {
  const { op, inputs, outputs, attrs } = check.step.op;
  const isCall = isNumberCall(attrs.fn);
  if (!isCall && !scalarFunctions.has(String(attrs.fn)))
    check.fail(`${String(attrs.fn)}`, 'a function of numbers');
  for (const input of check.inputs) check.expectSingle(input);
  if (isCall !== (inputs.length === 0)) {
    check.fail(`${inputs.length} numbers`, isCall ? 'none' : 'at least one');
  }
  check.expectSame('results', check.metas(outputs), op.infer(check.inputs, attrs));
  if (check.step.regions) check.fail('programs inside', 'none');
}

export function verifyDraw(check: ControlCheck): void {
  const { op, inputs, outputs, attrs } = check.step.op;
  if (inputs.length < 2) check.fail(`${inputs.length} numbers`, 'the seed and a place');
  for (const input of check.inputs) check.expectSingle(input);
  if (typeof attrs.offset !== 'number' || !(attrs.offset >= 0)) {
    check.fail(`the offset ${String(attrs.offset)}`, 'a number from 0 on');
  }
  check.expectSame('results', check.metas(outputs), op.infer(check.inputs, attrs));
  check.expectContiguous(outputs);
  if (check.step.regions) check.fail('programs inside', 'none');
}

/** Verifies that the results match the record and that there are no regions. */
export function verifyPlain(check: ControlCheck): void {
  const { op, inputs, outputs, attrs } = check.step.op;
  const fits = op.variadic || inputs.length === op.operands.length;
  if (!fits) check.fail(`${inputs.length} operands`, String(op.operands.length));
  check.expectSame('results', check.metas(outputs), op.infer(check.inputs, attrs));
  check.expectContiguous([...inputs, ...outputs]);
  if (check.step.regions) check.fail('programs inside', 'none');
}

export function verifyDimension(check: ControlCheck): void {
  const { op, attrs, inputs, outputs } = check.step.op;
  const [operand] = check.inputs;
  if (!operand || inputs.length !== 1) check.fail(`${inputs.length} operands`, '1');
  const isDim = Number.isInteger(attrs.dim) && (attrs.dim as number) >= -1;
  if (!isDim || (attrs.dim as number) >= operand.shape.length - 1) {
    check.fail(`the dimension ${String(attrs.dim)}`, 'one of the tensor');
  }
  check.expectSame('results', check.metas(outputs), op.infer(check.inputs, attrs));
  if (check.step.regions) check.fail('programs inside', 'none');
}

export function verifyMissing(check: ControlCheck): void {
  if (check.inputs.length === 0) check.fail('no gradient', 'at least one');
  verifyPlain(check);
}

export function verifyPrint(check: ControlCheck): void {
  const { attrs } = check.step.op;
  if (!methods.includes(attrs.method))
    check.fail(`console.${String(attrs.method)}`, methods.join());
  for (const part of lineParts(check, attrs.parts)) verifyPart(check, part);
  check.expectNoResults();
}

function verifyPart(check: ControlCheck, part: unknown): void {
  const [kind, value] = onlyEntry(check, part);
  switch (kind) {
    case 'constant':
      if (typeof value === 'object' && value !== null) check.fail('an object', 'a constant');
      return;
    case 'special':
      if (!Object.hasOwn(specialConstants, String(value))) check.fail(String(value), 'a constant');
      return;
    case 'text':
      for (const each of listIn(check, value)) verifyText(check, each);
      return;
    case 'list':
      for (const each of listIn(check, value)) verifyPart(check, each);
      return;
    case 'fields':
      for (const field of listIn(check, value)) {
        const [name, each] = listIn(check, field);
        if (typeof name !== 'string') check.fail('a field of a line', 'a name');
        verifyPart(check, each);
      }
      return;
    default: {
      const meta = operandOf(check, part);
      if (kind !== 'value') check.expectSingle(meta);
    }
  }
}

function verifyText(check: ControlCheck, part: unknown): void {
  if (typeof part === 'string') return;
  if (typeof part !== 'object' || part === null) check.fail('a part of text', 'an object');
  const { value, format, method, of, args } = part as Record<string, unknown>;
  if (method !== undefined) {
    if (value !== undefined) check.fail('a part of text', 'one of its kinds');
    if (!isTextCall(String(method), listIn(check, args))) check.fail('a call', 'a method of text');
    for (const each of listIn(check, of)) verifyText(check, each);
    return;
  }
  if (onlyEntry(check, value)[0] === 'value') check.fail('a tensor in text', 'a number or boolean');
  check.expectSingle(operandOf(check, value));
  const number = Object(format) as { method?: unknown; digits?: unknown };
  if (!isNumberFormat(String(number.method), number.digits)) {
    check.fail('a format', 'a method of numbers');
  }
}

/** Returns the operand that a part such as `{ number: 0 }` refers to. */
function operandOf(check: ControlCheck, part: unknown): TensorMeta {
  const [kind, value] = onlyEntry(check, part);
  const isIndex = ['value', 'number', 'boolean'].includes(kind) && typeof value === 'number';
  const id = isIndex ? check.step.op.inputs[value] : undefined;
  if (id === undefined) check.fail(`the part ${JSON.stringify(part)}`, 'an operand');
  return check.graph.values[id]!;
}

function onlyEntry(check: ControlCheck, part: unknown): [string, unknown] {
  if (typeof part !== 'object' || part === null) check.fail('a part of a line', 'an object');
  const [entry, ...others] = Object.entries(part);
  if (!entry || others.length > 0) check.fail('a part of a line', 'one of its kinds');
  return entry;
}

function listIn(check: ControlCheck, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) check.fail('a part of a line', 'a list');
  return value;
}

function lineParts(check: ControlCheck, text: unknown): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(String(text));
    if (Array.isArray(parts)) return parts;
  } catch {
    // Reported below.
  }
  return check.fail('a line that cannot be read', 'a list as JSON');
}
