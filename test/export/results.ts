/** What the Python scripts beside it write of the jobs that they ran. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openWeights } from '../../runtime/weights/index.ts';

type Outputs = Record<string, ArrayLike<number>>;

/** The outputs of each job by its name, or what its run has thrown. */
export async function resultsIn(
  folder: string,
): Promise<Record<string, Outputs | { readonly error: string }>> {
  const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Record<
    string,
    string | null
  >;
  const results: Record<string, Outputs | { error: string }> = {};
  for (const [name, error] of Object.entries(report)) {
    results[name] = error === null ? await outputsOf(join(folder, `${name}.out.npz`)) : { error };
  }
  return results;
}

async function outputsOf(path: string): Promise<Outputs> {
  await using weights = await openWeights(path);
  const found: [string, ArrayLike<number>][] = [];
  for (const name of weights.names()) {
    const tensor = await weights.tensor(name);
    found.push([name, (await tensor.to('float64').data()) as Float64Array]);
    tensor.dispose();
  }
  return Object.fromEntries(found);
}
