/** Runs one use eagerly and captured, four times, and tells what the capture did. */

import { inspect } from 'node:util';
import { type Tensor, type ToStaticOptions, tensor, toStatic } from '../../../../src/index.ts';
import { changeWorld, type RealmWorld, realmWorld } from './world.ts';

type Use = (x: Tensor, w: RealmWorld) => readonly [Tensor, unknown];

export interface Outcome {
  /** What differs from eager execution, or undefined. */
  readonly difference: string | undefined;
  readonly breaks: readonly string[];
  /** What the use threw eagerly. */
  readonly threw: readonly string[];
  readonly fallbacks: number;
  readonly translations: number;
}

/**
 * With the type, all content, and what is shared; errors without their frames, and promises without the numbers that
 * Node gives them where anything in the process follows asynchronous work.
 */
const shown = (value: unknown): string =>
  inspect(value, { depth: 8, showHidden: true, breakLength: Infinity, maxArrayLength: 300 })
    .replace(/\n?\s+at .*?(?=[\n\]]|$)/g, '')
    .replace(/\[stack\]: .*?(?=[,}])/g, '')
    .replace(/, \[Symbol\((async_id_symbol|trigger_async_id_symbol|kResourceStore)\)\]: \w+/g, '');

const calls = 4;

/** The results of all calls together, so that an object returned twice is seen. */
function run(fn: Use): { readonly seen: string[]; readonly threw: string[] } {
  const w = realmWorld();
  const results: unknown[] = [];
  const seen: string[] = [];
  const threw: string[] = [];
  for (let call = 0; call < calls; call++) {
    if (call === calls - 2) changeWorld(w);
    let result: unknown;
    try {
      const [y, value] = fn(tensor([1, 2]), w);
      result = [[...y.dataSync()], value];
    } catch (error) {
      result = error instanceof Error ? `${error.name}: ${error.message}` : error;
      threw.push(String(result));
    }
    results.push(result);
    seen.push(shown([result, w]));
  }
  seen.push(shown(results));
  return { seen, threw };
}

export function compareUse(text: string, options: ToStaticOptions = {}): Outcome {
  const use = new Function('x', 'w', `return [x.mul(2), ${text}];`) as Use;
  const captured = toStatic(use, options);
  const { seen: expected, threw } = run(use);
  const { seen: actual } = run(captured as unknown as Use);
  const at = expected.findIndex((each, i) => each !== actual[i]);
  const { breaks, fallbacks, translations } = captured.stats();
  return {
    difference: at < 0 ? undefined : `call ${at}: ${actual[at]} instead of ${expected[at]}`,
    breaks: breaks.map(({ reason, detail }) => `${reason}: ${detail}`),
    threw,
    fallbacks: fallbacks.length,
    translations,
  };
}
