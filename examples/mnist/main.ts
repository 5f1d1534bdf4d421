/**
 * Trains an MLP and a small convolutional network on the MNIST digits with three strategies that differ only in who
 * frees the memory of intermediate values, and when. Compares memory, time and results.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import Table from 'cli-table3';
import { loadMnist } from '../../runtime/data/mnist.ts';
import { TostaticError } from '../../src/index.ts';
import { type ReportSection, renderReport } from '../../src/lab/report.ts';
import { findProblems, type Results, summaryOf, tableOf } from './compare.ts';
import { type ModelName, models } from './models.ts';
import { type Options, readOptions } from './options.ts';
import { TrainingFailed, trainInOwnProcess } from './own-process.ts';
import { startProgress } from './progress.ts';
import { type StrategyName, strategies } from './strategies.ts';
import { stepsOf, type TrainingOptions, type TrainingResult } from './train.ts';

async function main(options: Options): Promise<void> {
  // Read first, so that a wrong path is reported before anything starts.
  const { train, test } = loadMnist(options.data);
  const limit = Math.min(options.limit ?? train.length, train.length);
  console.log(`MNIST: ${train.length} images to train on, ${test.length} to test; uses ${limit}`);
  const names = Object.keys(models) as ModelName[];

  const sections: ReportSection[] = [];
  const problems: string[] = [];
  for (const name of names.filter((one) => options.model === 'all' || options.model === one)) {
    const results = await trainInAllWays(name, options, limit);
    const { title } = models[name];
    const expected = { accuracy: limit === train.length, lowerPeak: options.batch === undefined };
    problems.push(...findProblems(results, expected).map((text) => `${title}: ${text}`));
    const section = sectionOf(name, options, results);
    sections.push(section);
    print(section);
  }

  console.log(`report: ${writeReport(sections, options, limit)}`);
  for (const problem of problems) console.error(`error: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}

async function trainInAllWays(model: ModelName, options: Options, limit: number): Promise<Results> {
  const { batch = models[model].batch, epochs = models[model].epochs, device } = options;
  const common = { model, batch, epochs, limit, device, directory: options.data };
  const results = new Map<StrategyName, TrainingResult>();
  for (const strategy of Object.keys(strategies) as StrategyName[]) {
    results.set(strategy, await trainWithProgress({ ...common, strategy }));
  }
  return results;
}

async function trainWithProgress(options: TrainingOptions): Promise<TrainingResult> {
  const title = `${models[options.model].title}, ${strategies[options.strategy].title}`;
  const progress = startProgress(title, stepsOf(options));
  const started = performance.now();
  try {
    const result = await trainInOwnProcess(options, (step, loss) => progress.step(step, loss));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const accuracy = (100 * result.accuracy).toFixed(2);
    progress.done(`${result.losses.length} steps in ${seconds} s, test accuracy ${accuracy} %`);
    return result;
  } catch (error) {
    progress.stop();
    throw error;
  }
}

function sectionOf(name: ModelName, options: Options, results: Results): ReportSection {
  const { title, batch } = models[name];
  return {
    title: `${title}, ${options.batch ?? batch} images per step`,
    summary: summaryOf(results),
    lines: Array.from(results, ([strategy, { timeline }]) => ({
      name: strategies[strategy].title,
      timeline,
    })),
    table: tableOf(results),
  };
}

function print({ title, summary, table }: ReportSection): void {
  const { head, rows } = table;
  const printed = new Table({
    // Heads have two lines, because eight columns of numbers are wide enough.
    head: head.map((text) => text.replace(/ (?=[^ ]*$)/, '\n')),
    colAligns: head.map((_, column) => (column === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) printed.push([...row]);
  console.log(`\n${title}\n${printed}\n${summary}\n`);
}

function writeReport(sections: ReportSection[], options: Options, limit: number): string {
  const html = renderReport({
    title: 'Memory of one training step, eager and static',
    summary:
      'The same models on the same MNIST digits from the same seed, trained with three strategies: eagerly ' +
      'with every value released at its last use, eagerly with tidy(), and as planned programs.',
    facts: [
      ['training images', new Intl.NumberFormat('en').format(limit)],
      ['optimizer', 'SGD with momentum'],
      ['device', options.device],
      ['Node.js', process.versions.node],
    ],
    sections,
  });
  const path = resolve(options.report);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, html);
  return pathToFileURL(path).href;
}

try {
  await main(readOptions(process.argv.slice(2)));
} catch (error) {
  // A user's mistake is explained by the message; any other error needs its stack.
  const saysAll = error instanceof TostaticError || error instanceof TrainingFailed;
  console.error(saysAll ? error.message : error);
  process.exitCode = 1;
}
