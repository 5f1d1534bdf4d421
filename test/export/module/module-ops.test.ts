/** Every op of the table computes in a module what its kernel computes, to the bit, or is refused by its name. */

import { describe, expect, it } from 'vitest';
import { cpu } from '../../../runtime/device/cpu/cpu-device.ts';
import { ArgumentError } from '../../../runtime/index.ts';
import { opTable } from '../../../runtime/ops/op-table.ts';
import type { Plan, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import { predictedBytes } from '../../../runtime/run-program/simulate/predicted-bytes.ts';
import { ProgramState } from '../../../runtime/save/program-state.ts';
import { numbersOf } from '../../../runtime/spec/stored-numbers.ts';
import { writeModule } from '../../../src/export/module/export-module.ts';
import { forwardCases } from '../../ops/cases/forward-cases.ts';
import { inDtype, variants } from '../../ops/cases/forward-dtypes.ts';
import { type OpSample, programOf, sampleOf } from '../op-samples.ts';
import { instanceOf } from './module-instance.ts';

const samples: OpSample[] = [];
for (const { name, kernel } of opTable.values()) {
  if (kernel.kind === 'control') continue;
  for (const variant of variants) {
    for (const [i, example] of (forwardCases[name] ?? []).entries()) {
      const own = inDtype(name, example, variant);
      if (!own) continue;
      const key = `${name} ${variant.to} ${i}`;
      samples.push({ key, tolerance: 0, ...sampleOf(name, own) });
    }
  }
}

const nothing = { peakBytes: 0, lowerBoundBytes: 0, savedBytes: 0, copiedBytes: 0, outputBytes: 0 };

/** The program of one op as a module. */
function moduleOf(sample: OpSample) {
  const { program, entry } = programOf([sample]);
  const { inputs, outputs, values } = program;
  const steps = program.ops.map((op) => {
    return { op, reuses: op.outputs.map(() => null), frees: [] };
  });
  const unusedInputs = inputs.filter(
    (id) => !outputs.includes(id) && !steps[0]!.op.inputs.includes(id),
  );
  const plan: Plan = {
    ...{ inputs, outputs, steps, unusedInputs, freesAtEnd: [], arenaBytes: 0, reordered: false },
    predicted: nothing,
  };
  const planned: PlannedSubgraph = { values, forward: plan, backward: null };
  const predicted = predictedBytes(planned)!;
  const state = new ProgramState([]);
  const own = { ...planned, forward: { ...plan, predicted } };
  return writeModule({ name: sample.name, state }, [{ saved: entry, planned: own }], null);
}

describe('ops in a module', () => {
  it('all', async () => {
    const refused = new Map<string, Set<string>>();
    const bad: string[] = [];
    let ok = 0;
    for (const sample of samples) {
      let written;
      try {
        written = moduleOf(sample);
      } catch (error) {
        if (!(error instanceof ArgumentError)) {
          bad.push(`${sample.key}: ${(error as Error).stack}`);
          continue;
        }
        const s = refused.get(sample.name) ?? new Set();
        refused.set(sample.name, s.add(sample.key.split(' ')[1]!));
        continue;
      }
      try {
        const model = await instanceOf(written.text);
        const results = model.run(...sample.inputs.map((each) => each.dataSync())) as {
          data: ArrayLike<number>;
        }[];
        sample.outputs.forEach((output, i) => {
          const theirs = results[i]!.data as Uint8Array;
          const ours = output.dataSync();
          const bytes = (x: ArrayBufferView) =>
            Buffer.from(x.buffer, x.byteOffset, x.byteLength).toString('hex');
          if (bytes(theirs) !== bytes(ours as Uint8Array))
            bad.push(
              `${sample.key} output ${i}: ${Array.from(ours).slice(0, 6)} there ${Array.from(theirs).slice(0, 6)}`,
            );
          else ok++;
        });
      } catch (error) {
        bad.push(`${sample.key}: ${(error as Error).stack?.slice(0, 700)}`);
      }
    }
    console.log([...refused].map(([n, s]) => `${n}: ${[...s]}`).join('\n'));
    console.log(ok, bad.length, bad.slice(0, 12).join('\n'));
  }, 300000);
});
