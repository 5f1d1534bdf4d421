/** Damaged and hostile files are a DataError or an ArgumentError, and read nothing outside of their folder. */

import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportOnnx } from '../../src/export/index.ts';
import { DataError, nn, randn, type Tensor, TostaticError, toStatic } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { modelSchema } from '../../src/onnx/schema.ts';
import { decodeMessage, encodeMessage } from '../../src/protobuf/message.ts';
import { runs } from '../generated/runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-onnx-files-'));
const outside = mkdtempSync(join(tmpdir(), 'tostatic-onnx-outside-'));
afterAll(() => {
  for (const each of [folder, outside]) rmSync(each, { recursive: true });
});

let file: Uint8Array;
let external: { model: Uint8Array; data: Uint8Array };
const x = randn([2, 16]);
let expected: readonly number[];
beforeAll(async () => {
  const net = new nn.Linear(16, 32);
  const fn = toStatic((input: Tensor) => net.forward(input), { fullGraph: true });
  expected = [...fn(x).dataSync()];
  file = (await exportOnnx(fn)).model;
  const apart = await exportOnnx(fn, { externalData: 'weights.data' });
  external = { model: apart.model, data: apart.data! };
});

/** The model in its folder, with another location of its weights. */
function withLocation(name: string, location: string): string {
  const model = decodeMessage(modelSchema, external.model, 'onnx');
  for (const { externalData } of model.graph!.initializer) {
    for (const entry of externalData) if (entry.key === 'location') entry.value = location;
  }
  const path = join(folder, name);
  writeFileSync(path, encodeMessage(modelSchema, model));
  return path;
}

describe('weights beside the model', () => {
  it('are read', async () => {
    writeFileSync(join(folder, 'weights.data'), external.data);
    const model = await importOnnx(withLocation('good.onnx', 'weights.data'));
    expect([...(model.forward(x) as Tensor).dataSync()]).toEqual(expected);
  });

  it.each(['../weights.data', '/etc/passwd', 'a/../../weights.data', 'C:\\x', '', 'no\0'])(
    'of another folder are not: %j',
    async (location) => {
      const read = importOnnx(withLocation('bad.onnx', location));
      await expect(read).rejects.toThrow(DataError);
    },
  );

  it('are not reached through links', async () => {
    writeFileSync(join(outside, 'secret'), external.data);
    symlinkSync(join(outside, 'secret'), join(folder, 'symbolic'));
    symlinkSync(outside, join(folder, 'link'));
    linkSync(join(outside, 'secret'), join(folder, 'hard'));
    for (const location of ['symbolic', 'link/secret', 'hard']) {
      const read = importOnnx(withLocation('linked.onnx', location));
      await expect(read).rejects.toThrow(DataError);
    }
  });

  it('may not be shorter than they say', async () => {
    writeFileSync(join(folder, 'short'), external.data.subarray(0, 100));
    await expect(importOnnx(withLocation('short.onnx', 'short'))).rejects.toThrow(DataError);
  });

  it('are refused, or read from inside the folder, when entries are changed at random', async () => {
    writeFileSync(join(folder, 'weights.data'), external.data);
    const locations = [
      'weights.data',
      './weights.data',
      'x/../weights.data',
      '.',
      '..',
      'none',
      '',
    ];
    const numbers = ['0', '1', '-1', '1e3', 'x', '', '0x10', '99999999999999999999', 'NaN', '64'];
    const entry = fc.record({
      of: fc.nat(),
      key: fc.constantFrom('location', 'offset', 'length', 'checksum', '__proto__'),
      value: fc.oneof(fc.constantFrom(...locations, ...numbers), fc.string()),
      isNew: fc.boolean(),
    });
    const model = () => decodeMessage(modelSchema, external.model, 'onnx');
    const counts = { refused: 0, read: 0 };
    const usual = runs<[Change[]]>(150);
    type Change = typeof entry extends fc.Arbitrary<infer T> ? T : never;
    const property = fc.asyncProperty(fc.array(entry, { maxLength: 2 }), async (changes) => {
      const changed = model();
      const tensors = changed.graph!.initializer.filter((each) => each.externalData.length > 0);
      for (const { of, key, value, isNew } of changes) {
        const { externalData } = tensors[of % tensors.length]!;
        if (isNew) externalData.push({ key, value });
        else externalData[of % externalData.length] = { key, value };
      }
      const path = join(folder, 'changed.onnx');
      writeFileSync(path, encodeMessage(modelSchema, changed));
      try {
        const found = await importOnnx(path);
        expect((found.forward(x) as Tensor).shape).toEqual([2, 32]);
        counts.read++;
      } catch (error) {
        expect(error).toBeInstanceOf(DataError);
        counts.refused++;
      }
    });
    await fc.assert(property, usual);
    expect(Math.min(counts.refused, counts.read)).toBeGreaterThan((usual.numRuns ?? 0) / 10);
  });

  it('are no pipe or folder', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    mkdirSync(join(folder, 'folder'));
    for (const location of ['pipe', 'folder']) {
      const read = importOnnx(withLocation('special.onnx', location));
      await expect(read).rejects.toThrow(/a file in the folder of the model/);
    }
  });

  it('are no more, all in all, than the files have', async () => {
    writeFileSync(join(folder, 'weights.data'), external.data);
    const model = decodeMessage(modelSchema, external.model, 'onnx');
    const { graph } = model;
    const large = graph!.initializer.find(({ externalData }) => externalData.length > 0)!;
    for (let i = 0; i < 20; i++) graph!.initializer.push({ ...large, name: `again${i}` });
    const path = join(folder, 'many.onnx');
    writeFileSync(path, encodeMessage(modelSchema, model));
    await expect(importOnnx(path)).rejects.toThrow(/tensors of \d+ bytes[\s\S]*as it has/);
  });

  it('need the path of the model', async () => {
    await expect(importOnnx(external.model)).rejects.toThrow(DataError);
  });
});

describe('damaged files', () => {
  it('of any kind are an error by name, or a model', async () => {
    const edit = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    const damaged = fc.record({
      edits: fc.array(edit, { maxLength: 8 }),
      cut: fc.option(fc.nat()),
    });
    let refused = 0;
    const usual = runs<[typeof damaged extends fc.Arbitrary<infer T> ? T : never]>(300);
    await fc.assert(
      fc.asyncProperty(damaged, async ({ edits, cut }) => {
        const bytes = file.slice(0, cut === null ? file.length : cut % file.length);
        for (const { at, byte } of edits) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        try {
          await importOnnx(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(TostaticError);
          refused++;
        }
      }),
      usual,
    );
    expect(refused).toBeGreaterThan((usual.numRuns ?? 0) / 6);
  });

  it('nested too deeply are an error', async () => {
    const empty = { floats: [], ints: [], strings: [] };
    const leaf = { node: [], initializer: [], input: [], output: [], sparseInitializer: [] };
    const nested = Array.from({ length: 200 }).reduce<typeof leaf>(
      (graph) => ({
        ...leaf,
        node: [
          {
            opType: 'If',
            input: [''],
            output: [],
            attribute: [{ ...empty, name: 'then_branch', type: 5, g: graph }],
          },
        ] as never[],
      }),
      leaf,
    );
    const opsetImport = [{ domain: '', version: 18 }];
    const model = { graph: nested, opsetImport, metadata: [], functions: [] };
    const read = importOnnx(encodeMessage(modelSchema, model));
    await expect(read).rejects.toThrow(/nest/);
  });

  it('names such as __proto__ are names', async () => {
    const model = decodeMessage(modelSchema, file, 'onnx');
    const { graph } = model;
    const [weight] = graph!.initializer;
    const old = weight!.name!;
    weight!.name = '__proto__';
    for (const node of graph!.node) {
      node.input = node.input.map((name) => (name === old ? '__proto__' : name));
    }
    const found = await importOnnx(encodeMessage(modelSchema, model));
    expect([...(found.forward(x) as Tensor).dataSync()]).toEqual(expected);
    expect([...found.namedParameters()].map(([name]) => name)).toContain('__proto__');
  });
});
