/** Lines in files of saved programs: parts that no line has are refused by `load`. */

import { describe, expect, it } from 'vitest';
import { DataError, load, tensor } from '../../runtime/index.ts';
import { printOp } from '../../runtime/program/control-ops.ts';
import { fileWith } from './op-samples.ts';

const inputs = [tensor(0.5)];
const attrsOf = (parts: unknown) => ({ method: 'log', parts: JSON.stringify(parts) });
// The program returns its operand.
const op = { ...printOp, inPlace: true };
const loaded = async (parts: unknown) =>
  load(fileWith({ op, inputs, attrs: {} }, [], attrsOf(parts)));

const number = { value: { number: 0 }, format: { method: 'toFixed', digits: 2 } };

const lines: Readonly<Record<string, unknown>> = {
  'a constant': [{ constant: 'x' }],
  'a tensor': [{ value: 0 }],
  'a number': [{ number: 0 }],
  'text of a number': [{ text: ['x = ', number] }],
  'a method of text': [{ text: [{ method: 'trim', of: [' ', number], args: [] }] }],
  'a list': [{ list: [{ fields: [['a', { special: 'NaN' }]] }] }],
};

const damaged: Readonly<Record<string, unknown>> = {
  'no list': {},
  'a part of two kinds': [{ constant: 1, value: 0 }],
  'no operand': [{ value: 1 }],
  'no constant': [{ special: 'all' }],
  'text of a tensor': [{ text: [{ ...number, value: { value: 0 } }] }],
  'text of no operand': [{ text: [{ ...number, value: { number: 99 } }] }],
  'too many digits': [{ text: [{ ...number, format: { method: 'toFixed', digits: 1000 } }] }],
  'no method of text': [{ text: [{ method: 'at', of: ['x'], args: [] }] }],
  'a method and a number': [
    { text: [{ ...number, value: { number: 99 }, method: 'trim', of: [], args: [] }] },
  ],
};

describe('lines', () => {
  it.each(Object.entries(lines))('%s is read', async (_, parts) => {
    await expect(loaded(parts)).resolves.toBeDefined();
  });
  it.each(Object.entries(damaged))('%s is refused', async (_, parts) => {
    await expect(loaded(parts)).rejects.toThrow(DataError);
  });
});
