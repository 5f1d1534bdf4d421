import { describe, expect, it } from 'vitest';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated } from '../ops/eager.ts';
import { runSample } from './run-sample.ts';
import { readSamples } from './samples.ts';

const samples = readSamples(new URL('data/opinfo.jsonl.gz', import.meta.url));
const ops = [...new Set(samples.map(({ op }) => op))];

/** One test per operator: its samples' values and gradients, and no byte kept. */
function describeIn(dtype: 'float32' | 'float64'): void {
  describe(`operators give PyTorch's recorded values and gradients in ${dtype}`, () => {
    for (const op of ops) {
      const own = samples.filter((sample) => sample.op === op);
      it(`${op} (${own.length} samples)`, () => {
        const before = allocated();
        own.forEach((sample, i) => {
          try {
            tidy(() => runSample(sample, dtype));
          } catch (error) {
            const { message } = error as Error;
            throw new Error(`${op} ${sample.variant} #${i}: ${message}`, { cause: error });
          }
        });
        expect(allocated()).toBe(before);
      });
    }
  });
}

describeIn('float32');
describeIn('float64');
