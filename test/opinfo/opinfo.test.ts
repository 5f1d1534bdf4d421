import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as functional from '../../runtime/functional/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated } from '../ops/eager.ts';
import { adapters } from './adapters.ts';
import { composed } from './composed.ts';
import { notOffered } from './not-offered.ts';
import { operatorsDocument, opinfo } from './operators-doc.ts';
import { runSample } from './run-sample.ts';
import { readSamples } from './samples.ts';

const samples = readSamples(opinfo);
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

describe('the table of operators', () => {
  it('has every function that is made of ops, once', () => {
    const listed = Object.values(composed).map((call) => call.slice(0, call.indexOf('(')));
    expect(listed.sort()).toEqual(Object.keys(functional).sort());
    expect(Object.keys(composed).filter((name) => adapters[name])).toEqual([]);
  });

  it('has every operator of the samples once: offered, or with the reason why not', () => {
    const both = ops.filter((op) => adapters[op] && notOffered[op]);
    const neither = ops.filter((op) => !adapters[op] && !notOffered[op]);
    expect({ both, neither }).toEqual({ both: [], neither: [] });
    const superfluous = Object.keys(notOffered).filter((op) => !ops.includes(op));
    expect(superfluous).toEqual([]);
  });

  it('is docs/operators.md', () => {
    const file = new URL('../../docs/operators.md', import.meta.url);
    if (process.env.UPDATE_DOCS) writeFileSync(file, operatorsDocument());
    expect(readFileSync(file, 'utf8')).toBe(operatorsDocument());
  });
});
