/** Models whose settings are changed at random run or are refused by name: no other error, no hang, no blow-up of memory. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memory, noGrad, randn, seed, type Tensor, TostaticError } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { runs } from '../generated/runs.ts';
import { anyDamage, type Damage, damaged } from './damage.ts';
import { modelFile } from './model-file.ts';
import { operatorSamples } from './operator-samples.ts';

/** A thousandfold padding or tiling of the largest sample is a model like any other. */
const mostBytes = 2 ** 28;
const mostMilliseconds = 10_000;

async function outcomeOf(bytes: Uint8Array, x: Tensor): Promise<'refused' | 'ran'> {
  const start = performance.now();
  const before = memory.stats('cpu').allocated;
  memory.reset('cpu');
  try {
    const model = await importOnnx(bytes);
    const result = noGrad(() => model.forward(x));
    for (const output of Array.isArray(result) ? result : [result]) {
      // An expanded view may have more elements than its memory.
      if (output.numel() < 2 ** 20) expect(output.dataSync().length).toBe(output.numel());
    }
    return 'ran';
  } catch (error) {
    if (error instanceof TostaticError) return 'refused';
    throw error;
  } finally {
    expect(performance.now() - start).toBeLessThan(mostMilliseconds);
    expect(memory.stats('cpu').peakAllocated - before).toBeLessThan(mostBytes);
  }
}

describe('a model of an operator', () => {
  it.each(Object.entries(operatorSamples))('runs as it is: %s', async (_name, { x, graph }) => {
    seed(1);
    expect(await outcomeOf(modelFile(graph, 18), randn(x))).toBe('ran');
  });

  it('runs, or is refused by name, when its settings are changed', async () => {
    const counts = { refused: 0, ran: 0 };
    const names = fc.constantFrom(...Object.keys(operatorSamples));
    const usual = runs<[string, Damage]>(2500);
    const property = fc.asyncProperty(names, anyDamage, async (name, damage) => {
      const { model, shape, changes } = damaged(operatorSamples[name]!, damage);
      try {
        counts[await outcomeOf(model, randn(shape))]++;
      } catch (cause) {
        throw new Error(`${name}: ${changes.join('; ')}`, { cause });
      }
    });
    await fc.assert(property, usual);
    expect(Math.min(counts.refused, counts.ran)).toBeGreaterThan((usual.numRuns ?? 0) / 5);
  });

  it('has flags that are 0 or 1', async () => {
    const flags = [
      ...['fmod', 'detect_positive', 'detect_negative', 'transA', 'transB', 'ceil_mode', 'upper'],
      ...['count_include_pad', 'layout', 'linear_before_reset', 'keepdims', 'noop_with_empty_axes'],
      ...['select_last_index', 'exclusive', 'reverse', 'largest', 'allowzero', 'training_mode'],
    ];
    const found = new Set<string>();
    for (const { x, graph } of Object.values(operatorSamples)) {
      for (const { name, i } of graph.node.flatMap(({ attribute }) => attribute)) {
        if (i === undefined || !flags.includes(name!)) continue;
        found.add(name!);
        const changed = structuredClone(graph);
        for (const { attribute } of changed.node) {
          for (const each of attribute) if (each.name === name) each.i = 2;
        }
        expect(await outcomeOf(modelFile(changed, 18), randn(x))).toBe('refused');
      }
    }
    expect([...found].sort()).toEqual([...flags].sort());
  });
});
