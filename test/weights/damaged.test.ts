/** Files of strangers: whatever is wrong with them is a DataError, and no memory stays taken. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, tensor } from '../../runtime/index.ts';
import { openWeights, saveNpz, saveSafetensors } from '../../runtime/weights/index.ts';
import { runs } from '../generated/runs.ts';
import { tryRead } from './try-read.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const files = [
  'tensors.safetensors',
  'arrays.npz',
  'array.npy',
  'views.pt',
  'checkpoint.pt',
  'legacy.pt',
] as const;
const bytesOf = (file: string) => new Uint8Array(readFileSync(join(fixtures, file)));

/** Values that break bounds, at one, two, four or eight bytes. */
const change = fc.record({
  at: fc.nat(),
  from: fc.nat(),
  length: fc.integer({ min: 1, max: 40 }),
  kind: fc.constantFrom('flip', 'ones', 'zeros', 'cut', 'insert', 'copy', 'text'),
  byte: fc.integer({ min: 1, max: 255 }),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const words = ['__proto__', '999999999999999999', 'os\nsystem\n', '[1,1]', '-1', '1e300', '"F64"'];

function changed(
  bytes: Uint8Array,
  { at: raw, from: other, length, kind, byte }: Change,
): Uint8Array {
  const at = raw % bytes.length;
  const result = bytes.slice();
  switch (kind) {
    case 'flip':
      result[at]! ^= byte;
      return result;
    case 'ones':
      return result.fill(0xff, at, at + (length % 8) + 1);
    case 'zeros':
      return result.fill(0, at, at + (length % 8) + 1);
    case 'cut':
      return new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(at + length)]);
    case 'insert':
      return new Uint8Array([
        ...bytes.subarray(0, at),
        ...new Uint8Array(length).fill(byte),
        ...bytes.subarray(at),
      ]);
    case 'copy':
      result.set(
        bytes
          .subarray(other % bytes.length, (other % bytes.length) + length)
          .subarray(0, bytes.length - at),
        at,
      );
      return result;
    case 'text': {
      const word = new TextEncoder().encode(words[byte % words.length]!);
      result.set(word.subarray(0, bytes.length - at), at);
      return result;
    }
  }
}

describe('a damaged file', () => {
  it.each(files)('is read when nothing is wrong: %s', async (file) => {
    expect(await tryRead(bytesOf(file))).toBe('read');
  });

  it.each(files)('is refused or harmless when it is changed anywhere: %s', async (file) => {
    const bytes = bytesOf(file);
    let refused = 0;
    const property = fc.asyncProperty(change, async (one) => {
      if ((await tryRead(changed(bytes, one))) !== 'read') refused++;
    });
    const usual = runs<[Change]>(200);
    await fc.assert(property, usual);
    expect(refused).toBeGreaterThan((usual.numRuns ?? 0) / 20);
  });

  it.each(files)('is refused when it ends too early: %s', async (file) => {
    const bytes = bytesOf(file);
    for (let length = 0; length < bytes.length; length += 1 + (bytes.length >> 5)) {
      expect(await tryRead(bytes.slice(0, length))).not.toBe('read');
    }
    expect(await tryRead(bytes.slice(0, -1))).not.toBe('read');
  });
});

/** A safetensors file with this header. */
function safetensors(header: unknown, dataBytes = 8): Uint8Array {
  const text = new TextEncoder().encode(
    typeof header === 'string' ? header : JSON.stringify(header),
  );
  const bytes = new Uint8Array(8 + text.length + dataBytes);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

const entry = (dtype: string, shape: unknown, offsets: unknown) => ({
  dtype,
  shape,
  data_offsets: offsets,
});

describe('safetensors', () => {
  it.each([
    ['a hole', { a: entry('F32', [1], [4, 8]) }],
    ['an overlap', { a: entry('F32', [2], [0, 8]), b: entry('F32', [1], [4, 8]) }],
    ['data that belongs to nothing', { a: entry('F32', [1], [0, 4]) }],
    ['another size', { a: entry('F32', [3], [0, 8]) }],
    ['a product beyond 2^53', { a: entry('F32', [2 ** 30, 2 ** 30, 0], [0, 0]) }],
    ['a negative size', { a: entry('F32', [-2], [0, 8]) }],
    ['an unknown dtype', { a: entry('constructor', [2], [0, 8]) }],
    ['no offsets', { a: { dtype: 'F32', shape: [2] } }],
    [
      'inherited properties',
      '{"a":{"__proto__":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}}',
    ],
    ['numbers as metadata', { __metadata__: { a: 1 }, b: entry('F32', [2], [0, 8]) }],
    ['a list', []],
    ['deep nesting', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ['65 dimensions', { a: entry('F32', Array(65).fill(1), [0, 4]) }],
  ])('refuses %s', async (_name, header) => {
    await expect(openWeights(safetensors(header))).rejects.toThrow(DataError);
  });

  it('refuses a header longer than the file, and one above 100 MB', async () => {
    for (const length of [1000n, 2n ** 63n, 100_000_001n]) {
      const bytes = safetensors({});
      new DataView(bytes.buffer).setBigUint64(0, length, true);
      await expect(openWeights(bytes)).rejects.toThrow(/length of the header/);
    }
  });

  it('takes what it must', async () => {
    const good = safetensors({ b: entry('F32', [1], [4, 8]), a: entry('F32', [1], [0, 4]) });
    await using weights = await openWeights(good);
    expect(weights.names()).toEqual(['b', 'a']);
    await using empty = await openWeights(await saveSafetensors({}));
    expect(empty.names()).toEqual([]);
  });
});

/** A pickle of opcodes given as texts and numbers, in an archive of PyTorch. */
async function torchFile(...parts: readonly (string | number)[]): Promise<Uint8Array> {
  const pickle = parts.flatMap((part) =>
    typeof part === 'number' ? [part] : [...new TextEncoder().encode(part)],
  );
  return legacyOf(pickle);
}

/** The older form needs no archive: magic number, version, machine, value, keys. */
function legacyOf(value: readonly number[]): Uint8Array {
  const whole = bytesOf('legacy.pt');
  // The three pickles before the value end with the dictionary of the machine's sizes.
  const start = whole.subarray(0, beginOfValue(whole));
  return new Uint8Array([...start, 0x80, 2, ...value, 0x2e, 0x80, 2, 0x5d, 0x2e]);
}

function beginOfValue(bytes: Uint8Array): number {
  let ends = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === 0x2e && bytes[i + 1] === 0x80 && ++ends === 3) return i + 1;
  }
  throw new Error('no value');
}

describe('pickles', () => {
  it.each([
    [
      'a function of the system',
      ['cposix\nsystem\n', 0x58, 4, 0, 0, 0, 'true', 0x85, 0x52],
      /posix\.system/,
    ],
    ['eval', ['cbuiltins\neval\n', 0x29, 0x52], /builtins\.eval/],
    ['a class of torch', ['ctorch.nn\nLinear\n'], /torch\.nn\.Linear/],
    ['a name that every object has', ['ctorch\nconstructor\n'], /torch\.constructor/],
    ['an instance', ['(cposix\nsystem\no'], /posix\.system/],
    ['an old kind of instance', ['(iposix\nsystem\n'], /opcode 0x69/],
    ['an extension', [0x82, 1], /opcode 0x82/],
    ['an empty stack', [0x30, 0x85], /empty stack/],
    ['an unknown place of the memo', [0x68, 5], /memo 5/],
    ['a long integer of 2 GB', [0x8b, 0xff, 0xff, 0xff, 0x7f], /integer of/],
    ['a text longer than the file', [0x58, 0xff, 0xff, 0xff, 0x7f], /more bytes/],
    ['attributes on a list', [0x5d, 0x7d, 0x62], /a list/],
  ])('refuse %s', async (_name, parts, message) => {
    const file = await torchFile(...parts);
    await expect(openWeights(file)).rejects.toThrow(DataError);
    await expect(openWeights(file)).rejects.toThrow(message);
  });

  it('refuse lists that hold themselves, and lists of lists of lists that are shared', async () => {
    const circle = await torchFile(0x5d, 0x71, 0, 0x68, 0, 0x61);
    await expect(openWeights(circle)).rejects.toThrow(DataError);
    const shared: number[] = [0x5d, 0x71, 0];
    for (let i = 0; i < 60; i++) shared.push(0x5d, 0x68, i, 0x61, 0x68, i, 0x61, 0x71, i + 1);
    await expect(openWeights(await torchFile(...shared))).rejects.toThrow(/share their parts/);
  });
});

describe('archives', () => {
  const archive = () => saveNpz({ a: tensor([1, 2, 3]), b: tensor([4]) });
  const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer);
  const directoryAt = (bytes: Uint8Array) => viewOf(bytes).getUint32(bytes.length - 6, true);

  it('refuse entries that overlap', async () => {
    const bytes = await archive();
    const first = directoryAt(bytes);
    const second = first + 46 + 5;
    expect(viewOf(bytes).getUint32(second, true)).toBe(0x02014b50);
    viewOf(bytes).setUint32(second + 42, 0, true);
    await expect(openWeights(bytes)).rejects.toThrow(/overlap/);
  });

  it('refuse sizes that their data cannot stand for', async () => {
    const bytes = await archive();
    const at = directoryAt(bytes);
    viewOf(bytes).setUint16(at + 10, 8, true);
    viewOf(bytes).setUint32(at + 24, 0x7fffffff, true);
    await expect(openWeights(bytes)).rejects.toThrow(/can expand to/);
  });

  it('refuse encrypted entries, and other kinds of compression', async () => {
    for (const [offset, value] of [
      [8, 1],
      [10, 12],
    ] as const) {
      const bytes = await archive();
      viewOf(bytes).setUint16(directoryAt(bytes) + offset, value, true);
      await expect(openWeights(bytes)).rejects.toThrow(DataError);
    }
  });
});
