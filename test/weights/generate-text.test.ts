/** The example that continues a text: tokens are those of Hugging Face's own tokenizer, and the text that of the model. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  continueText,
  type LanguageModel,
  loadLanguageModel,
} from '../../examples/generate-text.ts';
import { noGrad, tensor, tidy } from '../../src/index.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
const recorded = JSON.parse(readFileSync(join(fixtures, 'gpt2-tokens.json'), 'utf8')) as Readonly<
  Record<string, readonly number[]>
>;

let language: LanguageModel;
beforeAll(async () => {
  language = await loadLanguageModel(join(fixtures, 'gpt2'));
});
afterAll(() => language.model.dispose());

it.each(Object.entries(recorded))('has the recorded tokens: %j', (text, ids) => {
  expect(language.tokenizer.encode(text).ids).toEqual(ids);
  expect(language.tokenizer.decode(ids)).toBe(text);
});

it.each(['the boat sails', 'she', 'o', ' nine'])('appends the most likely tokens: %j', (text) => {
  const { model, tokenizer, positions } = language;
  // More than the model reads at once.
  const count = positions;
  const ids = [...tokenizer.encode(text).ids];
  for (let i = 0; i < count; i++) {
    const next = () => {
      const logits = noGrad(() =>
        model.forward(tensor([ids.slice(-positions)], { dtype: 'int32' })),
      );
      return logits
        .select(1, logits.shape[1]! - 1)
        .argmax(-1)
        .itemSync();
    };
    ids.push(tidy(next));
  }
  expect(ids.length).toBeGreaterThan(positions);
  const found = continueText(language, text, count);
  expect(found).toBe(tokenizer.decode(ids, { skip_special_tokens: true }));
  expect(found.startsWith(text)).toBe(true);
});
