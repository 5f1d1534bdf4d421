/**
 * Continues a text with a GPT-2 of Hugging Face: tokenizes it, runs the model token by token as one compiled program,
 * and decodes. The folder contains the model's `config.json`, `model.safetensors` and `tokenizer.json`. The tokenizer
 * is a separate package: `npm install @huggingface/tokenizers`.
 *
 *     npx tsx examples/generate-text.ts FOLDER 'Once upon a time'
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openWeights } from '../runtime/weights/index.ts';
import { noGrad, type Tensor, tensor, tidy, toStatic } from '../src/index.ts';
import { GPT2, gpt2Name } from './gpt2-model.ts';

/** Fields of `config.json`. */
interface Config {
  readonly n_embd: number;
  readonly n_head: number;
  readonly n_layer: number;
  readonly n_positions: number;
  readonly vocab_size: number;
}

/** The part of a tokenizer that the example uses. */
export interface Tokenizer {
  encode(text: string): { readonly ids: readonly number[] };
  decode(ids: readonly number[], options?: { readonly skip_special_tokens?: boolean }): string;
}

export interface LanguageModel {
  readonly model: GPT2;
  readonly tokenizer: Tokenizer;
  /** The maximum number of tokens that the model can read. */
  readonly positions: number;
}

function readJson(path: string): object {
  return JSON.parse(readFileSync(path, 'utf8')) as object;
}

/** Loads the optional package by a name that bundlers and TypeScript don't resolve. */
async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const packageName: string = '@huggingface/tokenizers';
  const { Tokenizer: Loaded } = (await import(packageName)) as {
    Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
  };
  const config = join(folder, 'tokenizer_config.json');
  return new Loaded(
    readJson(join(folder, 'tokenizer.json')),
    existsSync(config) ? readJson(config) : {},
  );
}

export async function loadLanguageModel(folder: string): Promise<LanguageModel> {
  const config = readJson(join(folder, 'config.json')) as Config;
  const { n_positions: positions, n_embd: width, n_layer: layers, n_head: heads } = config;
  const model = new GPT2({ vocabulary: config.vocab_size, positions, width, layers, heads });
  const [whole, index] = ['model.safetensors', 'model.safetensors.index.json'].map((name) =>
    join(folder, name),
  ) as [string, string];
  await using weights = await openWeights(existsSync(whole) ? whole : index);
  await weights.loadInto(model, { names: gpt2Name });
  return { model: model.eval(), tokenizer: await loadTokenizer(folder), positions };
}

/** Returns the text followed by the `count` most likely tokens, one after another. */
export function continueText(
  { model, tokenizer, positions }: LanguageModel,
  text: string,
  count: number,
): string {
  // The tokens always have one shape, so one program is compiled. Padding after the last token doesn't affect earlier
  // ones.
  const next = toStatic(
    (window: Tensor, last: Tensor) =>
      noGrad(() => model.forward(window).indexSelect(1, last).argmax(-1)),
    { fullGraph: true },
  );
  const ids = [...tokenizer.encode(text).ids];
  for (let i = 0; i < count; i++) {
    const seen = ids.slice(-positions);
    const padded = Array.from({ length: positions }, (_, k) => seen[k] ?? 0);
    ids.push(
      tidy(() =>
        next(
          tensor([padded], { dtype: 'int32' }),
          tensor([seen.length - 1], { dtype: 'int32' }),
        ).itemSync(),
      ),
    );
  }
  return tokenizer.decode(ids, { skip_special_tokens: true });
}

const [, script, folder, text = 'Once upon a time'] = process.argv;
if (script?.endsWith('generate-text.ts')) {
  if (!folder) throw new Error('usage: generate-text.ts FOLDER [TEXT]');
  console.log(continueText(await loadLanguageModel(folder), text, 40));
}
