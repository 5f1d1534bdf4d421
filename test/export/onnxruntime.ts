/** ONNX models checked and run by Python's packages, all of a test file in one process. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tensor } from '../../runtime/index.ts';
import { saveNpz } from '../../runtime/weights/index.ts';
import { resultsIn } from './results.ts';

export interface OnnxJob {
  readonly model: Uint8Array;
  /** A file beside the model. */
  readonly external?: { readonly name: string; readonly data: Uint8Array };
  readonly outputs: readonly { readonly name: string; readonly feeds: string | null }[];
  /** First values of all inputs. */
  readonly inputs: readonly (readonly [name: string, value: Tensor])[];
  readonly steps: number;
  /** Per later step the inputs that it brings, by number. */
  readonly batches: readonly (readonly (readonly [number, Tensor])[])[];
}

/** Numbers of each output by `o{output}.{step}`, or what is wrong with the model. */
export type OnnxResult = Readonly<Record<string, ArrayLike<number>>> | { readonly error: string };

export async function runOnnx(
  python: string,
  jobs: Readonly<Record<string, OnnxJob>>,
): Promise<Record<string, OnnxResult>> {
  const folder = mkdtempSync(join(tmpdir(), 'tostatic-onnx-'));
  try {
    for (const [name, { model, external, inputs, batches }] of Object.entries(jobs)) {
      writeFileSync(join(folder, `${name}.onnx`), model);
      if (external) writeFileSync(join(folder, external.name), external.data);
      const arrays = inputs.map(([, value], i) => [`i${i}`, value] as const);
      const later = batches.flatMap((own, step) =>
        own.map(([i, value]) => [`i${i}.${step + 1}`, value] as const),
      );
      await saveNpz(Object.fromEntries([...arrays, ...later]), join(folder, `${name}.npz`));
    }
    const listed = Object.entries(jobs).map(([name, { inputs, outputs, steps, batches }]) => ({
      name,
      inputs: inputs.map(([input]) => input),
      outputs: outputs.map((output) => output.name),
      feeds: outputs.map(({ feeds }) => feeds),
      steps,
      batches: batches[0]?.map(([i]) => i) ?? [],
    }));
    writeFileSync(join(folder, 'jobs.json'), JSON.stringify(listed));
    execFileSync(python, [join(import.meta.dirname, 'run-onnx.py'), folder], { stdio: 'pipe' });
    return await resultsIn(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
