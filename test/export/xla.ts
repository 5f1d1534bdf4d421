/** Programs of StableHLO run by XLA, all of a test file in one process of Python. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tensor } from '../../runtime/index.ts';
import { saveNpz } from '../../runtime/weights/index.ts';
import type { ExportedOutput } from '../../src/export/index.ts';
import { resultsIn } from './results.ts';

export interface XlaJob {
  readonly text: string;
  readonly outputs: readonly ExportedOutput[];
  /** First values of all inputs. */
  readonly inputs: readonly Tensor[];
  readonly steps: number;
  /** Per later step the inputs that it brings, by number. */
  readonly batches: readonly (readonly (readonly [number, Tensor])[])[];
}

/** Numbers of each output by `o{output}.{step}`, or what XLA says against the program. */
export type XlaResult = Readonly<Record<string, ArrayLike<number>>> | { readonly error: string };

/** What LLVM makes of XLA's code is not ours: a fifth of the time is saved where it need not be fast. */
const flags = process.env.INTEROP ? {} : { XLA_FLAGS: '--xla_backend_optimization_level=0' };

export async function runInXla(
  python: string,
  jobs: Readonly<Record<string, XlaJob>>,
): Promise<Record<string, XlaResult>> {
  const folder = mkdtempSync(join(tmpdir(), 'tostatic-xla-'));
  try {
    for (const [name, { text, inputs, batches }] of Object.entries(jobs)) {
      writeFileSync(join(folder, `${name}.mlir`), text);
      const arrays = inputs.map((tensor, i) => [`i${i}`, tensor] as const);
      const later = batches.flatMap((own, step) =>
        own.map(([i, tensor]) => [`i${i}.${step + 1}`, tensor] as const),
      );
      await saveNpz(Object.fromEntries([...arrays, ...later]), join(folder, `${name}.npz`));
    }
    const listed = Object.entries(jobs).map(([name, { inputs, outputs, steps, batches }]) => ({
      name,
      inputs: inputs.length,
      outputs,
      steps,
      batches: batches[0]?.map(([i]) => i) ?? [],
    }));
    writeFileSync(join(folder, 'jobs.json'), JSON.stringify(listed));
    const script = join(import.meta.dirname, 'run-stablehlo.py');
    execFileSync(python, [script, folder], { stdio: 'pipe', env: { ...process.env, ...flags } });
    return await resultsIn(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
