/** Headers, indices and directories whose parts are changed one by one: a DataError, or what the rest still says. */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../generated/runs.ts';
import { countSpots, type Mutation, mutate, mutationOf } from '../save/mutations.ts';
import { tryRead } from './try-read.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const bytesOf = (file: string) => new Uint8Array(readFileSync(join(fixtures, file)));

/** Runs the property with its seed, and expects that a good share of the changes is noticed. */
async function expectRefused<T>(
  change: fc.Arbitrary<T>,
  outcomeOf: (change: T) => Promise<string>,
  { count = 400, share = 0.3 } = {},
): Promise<void> {
  let refused = 0;
  const property = fc.asyncProperty(change, async (one) => {
    if ((await outcomeOf(one)) !== 'read') refused++;
  });
  const usual = runs<[T]>(count);
  await fc.assert(property, usual);
  expect(refused).toBeGreaterThan((usual.numRuns ?? 0) * share);
}

describe('the header of a safetensors file', () => {
  const file = bytesOf('tensors.safetensors');
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length))) as object;

  it('is refused or harmless when its parts are changed', async () => {
    await expectRefused(mutationOf(countSpots(header)), async (mutation) => {
      const text = new TextEncoder().encode(JSON.stringify(mutate(header, mutation)));
      const bytes = new Uint8Array([...new Uint8Array(8), ...text, ...file.subarray(8 + length)]);
      new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
      return tryRead(bytes);
    });
  });
});

describe('an index of shards', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tostatic-shards-'));
  const path = join(folder, 'model.safetensors.index.json');
  const shards = [1, 2, 3].map((i) => `model-0000${i}-of-00003.safetensors`);
  const index = JSON.parse(
    readFileSync(join(fixtures, 'gpt2/model.safetensors.index.json'), 'utf8'),
  ) as { weight_map: Record<string, unknown> };
  const fileBytes = shards.reduce((sum, file) => sum + bytesOf(`gpt2/${file}`).length, 0);

  beforeAll(() => {
    for (const file of shards) copyFileSync(join(fixtures, 'gpt2', file), join(folder, file));
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(folder, 'empty'), '');
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    symlinkSync('circle', join(folder, 'circle'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Names of files: of shards, of other things in the folder, of nothing, and of places outside. */
  const files = [
    ...[...shards, 'folder', 'empty', 'pipe', 'circle', 'model.safetensors.index.json', 'none', ''],
    ...['..', '.', '/etc/passwd', '../x', 'folder/../x', '__proto__', 'constructor', 'a\0b'],
    ...['file:x', 'C:x', 'a\\b', 'a%2fb', 'http://127.0.0.1:1/', 'x'.repeat(5000), '\ud800'],
  ];
  const names = ['__proto__', 'constructor', '', 'none', ...Object.keys(index.weight_map)];
  const change = fc.oneof(
    mutationOf(countSpots(index)),
    fc.record({ name: fc.constantFrom(...names), file: fc.constantFrom(...files) }),
  );
  const changed = (one: Mutation | { name: string; file: string }): object => {
    if ('where' in one) return mutate(index, one);
    // An assignment would set the prototype.
    const entries = [...Object.entries(index.weight_map), [one.name, one.file]];
    return { ...index, weight_map: Object.fromEntries(entries) };
  };

  it('is read when nothing is wrong', async () => {
    writeFileSync(path, JSON.stringify(index));
    expect(await tryRead(path, fileBytes)).toBe('read');
  });

  it('is refused or harmless when its parts are changed, and leaves no file open', async () => {
    const descriptors = '/proc/self/fd';
    const open = () => (existsSync(descriptors) ? readdirSync(descriptors).length : 0);
    const before = open();
    await expectRefused(change, async (one) => {
      writeFileSync(path, JSON.stringify(changed(one)));
      return tryRead(path, fileBytes);
    });
    expect(open()).toBeLessThanOrEqual(before);
  });

  it('is refused when it ends too early, or nests too deeply', async () => {
    const text = JSON.stringify(index);
    const texts = [0, 1, 40, text.length - 1].map((length) => text.slice(0, length));
    for (const bad of [...texts, `{"weight_map":${'['.repeat(1e5)}${']'.repeat(1e5)}}`]) {
      writeFileSync(path, bad);
      expect(await tryRead(path, fileBytes)).toMatch(/safetensors index/);
    }
  });
});

describe('the header of an array', () => {
  const file = bytesOf('array.npy');
  const length = new DataView(file.buffer).getUint16(8, true);
  const parts = new TextDecoder().decode(file.subarray(10, 10 + length)).match(/\w+|\W/g)!;
  const words = [
    ...['descr', 'fortran_order', 'shape', 'True', 'False', 'f4', 'f8', 'O', 'V8', '__proto__'],
    ...['0', '1', '2', '99999999999', '9'.repeat(400), '-', '(', ')', '{', '}', "'", ',', ':'],
    ...['<', '>', '|', '=', 'None', 'L', '1e9', '.5', '\0', '['.repeat(3000), ' '],
  ];

  it('is refused or harmless when its words are changed', async () => {
    const change = fc.record({ at: fc.nat(parts.length - 1), word: fc.constantFrom(...words) });
    await expectRefused(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const text = [...parts];
      for (const { at, word } of changes) text[at] = word;
      const own = new TextEncoder().encode(text.join(''));
      const bytes = new Uint8Array([
        ...file.subarray(0, 10),
        ...own,
        ...file.subarray(10 + length),
      ]);
      new DataView(bytes.buffer).setUint16(8, own.length, true);
      return tryRead(bytes);
    });
  });
});

describe('the directory of an archive', () => {
  /** Offsets and bytes of the fields of an entry, behind its signature. */
  const fields = [
    ...[8, 10, 28, 30, 32].map((at) => [at, 2] as const),
    ...[16, 20, 24, 42].map((at) => [at, 4] as const),
  ];
  const endFields = [8, 10, 12, 16].map((at) => [at, at < 12 ? 2 : 4] as const);

  it.each(['arrays.npz', 'checkpoint.pt'])(
    'is refused or harmless when its numbers are changed: %s',
    async (name) => {
      const file = bytesOf(name);
      const view = new DataView(file.buffer);
      const end = file.length - 22;
      const entries: number[] = [];
      for (let at = view.getUint32(end + 16, true); at < end; ) {
        entries.push(at);
        at += 46 + [28, 30, 32].reduce((sum, field) => sum + view.getUint16(at + field, true), 0);
      }
      const places = [
        ...entries.flatMap((entry) => fields.map(([at, size]) => [entry + at, size] as const)),
        ...endFields.map(([at, size]) => [end + at, size] as const),
      ];
      const read = (bytes: DataView, [at, size]: readonly [number, number]) =>
        size === 2 ? bytes.getUint16(at, true) : bytes.getUint32(at, true);
      const change = fc.record({
        place: fc.constantFrom(...places),
        other: fc.constantFrom(...places),
        kind: fc.constantFrom('most', 'none', 'nudge', 'copy', 'large'),
        by: fc.integer({ min: -3, max: 3 }),
      });
      await expectRefused(change, async ({ place, other, kind, by }) => {
        const bytes = file.slice();
        const own = new DataView(bytes.buffer);
        const value = {
          most: -1,
          none: 0,
          nudge: read(own, place) + by,
          copy: read(own, other),
          large: 0x7fffffff,
        }[kind];
        if (place[1] === 2) own.setUint16(place[0], value, true);
        else own.setUint32(place[0], value, true);
        return tryRead(bytes);
      });
    },
  );
});
