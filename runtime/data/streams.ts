import type { IterableDataset } from './source.ts';

/** Yields samples of a stream in groups. Ending early closes the stream. */
export async function* streamOf(
  dataset: IterableDataset<unknown>,
  batchSize: number,
  dropLast: boolean,
): AsyncGenerator<unknown[], void, undefined> {
  let samples: unknown[] = [];
  for await (const sample of dataset) {
    samples.push(sample);
    if (samples.length < batchSize) continue;
    yield samples;
    samples = [];
  }
  if (samples.length > 0 && !dropLast) yield samples;
}
