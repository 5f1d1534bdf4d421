/** What files of other tools hold comes out as it went in, and what we write they could read. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ArgumentError,
  DataError,
  DTypeError,
  nn,
  ShapeError,
  type Tensor,
  tensor,
} from '../../runtime/index.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { openWeights, saveNpy, saveNpz, saveSafetensors } from '../../runtime/weights/index.ts';
import { runs } from '../generated/runs.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const folder = mkdtempSync(join(tmpdir(), 'tostatic-weights-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** dtype, shape and numbers of every tensor in a file. */
async function contents(source: string | Uint8Array): Promise<Record<string, unknown>> {
  await using weights = await openWeights(source);
  const entries: [string, unknown][] = [];
  for (const name of weights.names()) {
    const own = await weights.tensor(name);
    const { dtype, shape } = own;
    expect(weights.info(name)).toEqual({ dtype, shape });
    entries.push([name, [dtype, shape, await own.toArray()]]);
    own.dispose();
  }
  return Object.fromEntries(entries);
}

describe('files of others', () => {
  it('safetensors: names, dtypes, metadata', async () => {
    const file = join(fixtures, 'tensors.safetensors');
    const found = await contents(file);
    expect(Object.entries(found).sort()).toEqual([
      ['__proto__', ['float32', [3], [0, 1, 2]]],
      ['brain', ['bfloat16', [2], [1, -3]]],
      ['empty', ['float32', [2, 0], [[], []]]],
      ['flags', ['bool', [3], [true, false, true]]],
      ['half', ['float16', [1, 2], [[0.5, -2]]]],
      ['scalar', ['int32', [], 7]],
      ['wide', ['int32', [2], [5, -6]]],
    ]);
    await using weights = await openWeights(file);
    expect([...weights.metadata].sort()).toEqual([
      ['format', 'pt'],
      ['note', 'äöü'],
    ]);
  });

  it('npz and npy: compressed, column-major, big-endian', async () => {
    expect(await contents(join(fixtures, 'arrays.npz'))).toEqual({
      rows: [
        'float32',
        [2, 3],
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      columns: [
        'float64',
        [2, 3],
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      big: ['int32', [3], [0, 1, 2]],
      half: ['float16', [1], [0.5]],
      scalar: ['float32', [], 2.5],
      flags: ['bool', [2], [true, false]],
      empty: ['int32', [0, 4], []],
    });
    expect(await contents(join(fixtures, 'array.npy'))).toEqual({
      array: ['int32', [4], [0, 1, 2, 3]],
    });
  });

  it('PyTorch: views, dtypes, nested checkpoints', async () => {
    const found = await contents(join(fixtures, 'views.pt'));
    const column = (from: number) => [from, from + 6, from + 12, from + 18];
    expect(found).toMatchObject({
      transposed: ['float32', [6, 4], [0, 1, 2, 3, 4, 5].map(column)],
      part: ['float32', [6], [5, 6, 7, 8, 9, 10]],
      'every other': [
        'float32',
        [3, 4],
        [
          [0, 2, 4, 6],
          [8, 10, 12, 14],
          [16, 18, 20, 22],
        ],
      ],
      parameter: ['float32', [2], [0, 1]],
      bool: ['bool', [2], [true, false]],
      uint8: ['uint8', [2], [0, 255]],
      int8: ['int32', [2], [-128, 127]],
      int16: ['int32', [2], [-(2 ** 15), 7]],
      int32: ['int32', [2], [-(2 ** 31), 7]],
      int64: ['int32', [2], [-(2 ** 31), 7]],
      float16: ['float16', [2], [0.5, 65504]],
      float64: ['float64', [2], [0.1, 1e300]],
      scalar: ['float32', [], 2.5],
      empty: ['float32', [0, 3], []],
    });
    await using checkpoint = await openWeights(join(fixtures, 'checkpoint.pt'));
    expect(checkpoint.names()).toContain('model.norm.weight');
    expect(checkpoint.names()).toContain('optimizer.state.0.exp_avg');
  });

  it('PyTorch: both forms of the file hold the same', async () => {
    const [archive, legacy, arrays] = await Promise.all(
      ['layers.pt', 'legacy.pt', 'layers.npz'].map((file) => contents(join(fixtures, file))),
    );
    expect(legacy).toEqual(archive);
    expect(arrays).toEqual(archive);
  });

  it.each([
    ['whole-module.pt', /torch\.nn\.modules\.container\.Sequential/],
    ['objects.npy', /\|O/],
  ])(
    'a file with objects of Python is refused, by the name of the class: %s',
    async (file, name) => {
      await expect(openWeights(join(fixtures, file))).rejects.toThrow(DataError);
      await expect(openWeights(join(fixtures, file))).rejects.toThrow(name);
    },
  );
});

const names = fc.array(
  fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'constructor', '0')),
  {
    maxLength: 4,
  },
);
const shapes = fc.array(fc.nat(3), { maxLength: 3 });

function made(dtype: DType, shape: readonly number[]): Tensor {
  const size = shape.reduce((product, each) => product * each, 1);
  const numbers = Array.from({ length: size }, (_, i) => (dtype === 'bool' ? i % 2 : i * 0.5));
  return tensor(new Float64Array(numbers), { dtype, shape: [...shape] });
}

describe('files of ours', () => {
  it.each(['safetensors', 'npz'] as const)(
    'hold any names, dtypes and shapes: %s',
    async (format) => {
      const known = (Object.keys(dtypes) as DType[]).filter(
        (dtype) => format === 'safetensors' || dtype !== 'bfloat16',
      );
      const write = format === 'npz' ? saveNpz : saveSafetensors;
      const property = fc.asyncProperty(
        names,
        shapes,
        fc.constantFrom(...known),
        async (all, shape, dtype) => {
          const usable = [...new Set(all)].filter(
            (name) => !(format === 'npz' && /\/$/.test(name)),
          );
          const state = Object.fromEntries(usable.map((name) => [name, made(dtype, shape)]));
          const bytes = await write(state);
          const found = await contents(bytes);
          expect(Object.keys(found).sort()).toEqual([...usable].sort());
          for (const name of usable) {
            const own = Object.getOwnPropertyDescriptor(state, name)!.value as Tensor;
            const there = Object.getOwnPropertyDescriptor(found, name)!.value as unknown;
            expect(there).toEqual([dtype, shape, await own.toArray()]);
            own.dispose();
          }
        },
      );
      await fc.assert(property, runs(40));
    },
  );

  it('npy comes back, to a path too', async () => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    expect(await contents(await saveNpy(x))).toEqual({
      array: [
        'float32',
        [2, 2],
        [
          [1, 2],
          [3, 4],
        ],
      ],
    });
    const path = join(folder, 'x.npy');
    await saveNpy(x, path);
    expect(new Uint8Array(readFileSync(path))).toEqual(await saveNpy(x));
    await expect(saveNpy(x.to('bfloat16'))).rejects.toThrow(DTypeError);
  });

  it('in shards, with an index beside them', async () => {
    const state = new nn.Linear(40, 30).stateDict();
    const path = join(folder, 'model.safetensors.index.json');
    await saveSafetensors(state, path, { maxShardBytes: 1000 });
    await using weights = await openWeights(path);
    const again = new nn.Linear(40, 30);
    await weights.loadInto(again);
    expect(await again.weight.data()).toEqual(await state['weight']!.data());
    await expect(saveSafetensors(state, join(folder, 'x'), { maxShardBytes: 1 })).rejects.toThrow(
      ArgumentError,
    );
  });
});

describe('loading into a module', () => {
  it('compares names and shapes before it writes anything', async () => {
    const [own, other] = [new nn.Linear(2, 3), new nn.Linear(2, 4)];
    const before = await own.weight.data();
    await using weights = await openWeights(await saveSafetensors(other.stateDict()));
    await expect(weights.loadInto(own)).rejects.toThrow(ShapeError);
    await using named = await openWeights(await saveSafetensors({ w: own.weight }));
    await expect(named.loadInto(own)).rejects.toThrow(/missing: weight, bias; unexpected: w/);
    expect(await own.weight.data()).toEqual(before);
    const mapped = await named.loadInto(own, { names: { weight: 'w' }, strict: false });
    expect(mapped).toEqual({ missing: ['bias'], unexpected: [] });
  });

  it('rounds floating numbers to the dtype of the tensor, and refuses them for integers', async () => {
    const [half, whole] = [
      tensor([0.1, 2], { dtype: 'float16' }),
      tensor([3, 4], { dtype: 'int32' }),
    ];
    const own = new (class extends nn.Module {
      a = nn.parameter(tensor([0, 0]));
      b = nn.buffer(tensor([0, 0], { dtype: 'float64' }));
      override forward(): never {
        throw new Error('not run');
      }
    })();
    await using weights = await openWeights(await saveSafetensors({ a: half, b: whole }));
    await weights.loadInto(own);
    expect([...(await own.a.data())]).toEqual([0.0999755859375, 2]);
    expect([...(await own.b.data())]).toEqual([3, 4]);
    const counter = new (class extends nn.Module {
      a = nn.buffer(tensor([0, 0], { dtype: 'int32' }));
      override forward(): never {
        throw new Error('not run');
      }
    })();
    await expect(weights.loadInto(counter, { strict: false })).rejects.toThrow(DTypeError);
  });

  it('makes a write that backward notices', async () => {
    const w = nn.parameter(tensor([2, 3]));
    const model = new (class extends nn.Module {
      w = w;
      override forward(): never {
        throw new Error('not run');
      }
    })();
    const loss = w.mul(w).sum();
    await using weights = await openWeights(await saveSafetensors({ w: tensor([5, 6]) }));
    await weights.loadInto(model);
    expect(() => loss.backward()).toThrow(/in place/);
  });
});

describe('over HTTP', () => {
  let server: Server;
  let address = '';
  const asked: string[] = [];
  let sent = 0;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const file = readFileSync(join(fixtures, request.url!.slice(1)));
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
      asked.push(request.headers.range ?? '');
      const part = file.subarray(Number(from), Number(to) + 1);
      sent += part.length;
      const range = `bytes ${from}-${Number(from) + part.length - 1}/${file.length}`;
      response.writeHead(206, { 'content-range': range });
      response.end(part);
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  it('one tensor is read without the others, by range', async () => {
    await using weights = await openWeights(`${address}/vit/model.safetensors`);
    const header = sent;
    const bias = await weights.tensor('classifier.bias');
    expect(sent - header).toBe(5 * 4);
    expect(asked.every((range) => range.startsWith('bytes='))).toBe(true);
    await using local = await openWeights(join(fixtures, 'vit/model.safetensors'));
    expect(await bias.data()).toEqual(await (await local.tensor('classifier.bias')).data());
  });

  it('the files of an index are found beside it', async () => {
    await using weights = await openWeights(`${address}/gpt2/model.safetensors.index.json`);
    expect((await weights.tensor('transformer.ln_f.bias')).shape).toEqual([16]);
  });
});

it('an index names files beside it alone', async () => {
  for (const file of ['../x', '/etc/passwd', 'a/b', '..', '.hidden', 'C:x', 'a\\b', 'a%2fb', '']) {
    const path = join(folder, 'bad.index.json');
    writeFileSync(path, JSON.stringify({ weight_map: { w: file } }));
    await expect(openWeights(path)).rejects.toThrow(/a file beside the index/);
  }
});
