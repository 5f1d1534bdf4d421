import { basename } from 'node:path';
import { describeNumerics } from '../../../runtime/device/cpu/numerics-report.ts';
import { ArgumentError, DataError } from '../../../runtime/errors/errors.ts';
import { budgetsBetween, curveOf, curveTable } from '../../lab/compare/curve.ts';
import type { VariantResult } from '../../lab/compare/measure.ts';
import { renderComparison } from '../../lab/compare/page.ts';
import { printTable, problemsOf, variantsTable } from '../../lab/compare/tables.ts';
import { ablations, stepVariants, variants } from '../../lab/compare/variants.ts';
import { writeOutput } from '../files/write-output.ts';
import { loadSubject } from './load-subject.ts';
import { measureInOwnProcess, type Setting, type VariantRequest } from './own-process.ts';
import { budgetSetting, type SweepOptions, settingsOf } from './settings.ts';

interface CompareOptions extends SweepOptions {
  readonly function?: string;
  readonly device: string;
  readonly steps: string;
  readonly size: string;
  readonly batch?: string;
  readonly modes?: string;
  readonly ablations?: boolean;
  /** The number of budgets between none and the smallest feasible one. */
  readonly curve?: string;
  readonly json?: string;
  readonly html?: string;
}

/**
 * `tostatic compare`: runs one training step, of a workload or an exported function, in many modes, each in its own
 * process. Prints a table per group; the exit code is 1 if a guarantee is violated (predicted bytes, equal losses,
 * leaks).
 */
export async function compareFile(file: string, options: CompareOptions): Promise<void> {
  const found = await measureModes(file, options);
  const { failures, results } = found;
  if (results.length === 0) {
    throw new DataError({
      what: 'compare: every mode failed',
      given: file,
      expected: 'a step that runs in at least one mode',
      remedy: `correct what fails:\n\n${eachOnce(failures)}`,
    });
  }
  const problems = [
    ...problemsOf(results),
    ...failures.map(({ name, message }) => `${name}: ${message}`),
  ];
  const comparison = { ...found, problems, curve: curveOf(found.swept) };
  printComparison(comparison);
  writeComparison(file, options, comparison);
  if (problems.length > 0) process.exitCode = 1;
}

interface Failure {
  readonly name: string;
  readonly message: string;
}

interface Measured {
  readonly results: readonly VariantResult[];
  /** The results under the budgets of `--curve`. */
  readonly swept: readonly VariantResult[];
  readonly failures: readonly Failure[];
}

interface Comparison extends Measured {
  readonly problems: readonly string[];
  readonly curve: ReturnType<typeof curveOf>;
}

/** Runs the step in each mode. */
async function measureModes(file: string, options: CompareOptions): Promise<Measured> {
  const steps = positive('--steps', options.steps);
  const size = sizeOf(options.size);
  const batch = options.batch === undefined ? undefined : positive('--batch', options.batch);
  // A module that can't be compared is reported once, not once per process.
  const { isPlainStep } = await loadSubject(file, options.function);
  if (isPlainStep) expectForStep(file, options);
  const { device, function: chosen } = options;
  const common = { file, function: chosen, device, steps, size, batch };
  const failures: Failure[] = [];
  const measured = async (request: VariantRequest): Promise<VariantResult | null> => {
    const name = typeof request.variant === 'string' ? request.variant : request.variant.title;
    process.stderr.write(`${name} … `);
    const reply = await measureInOwnProcess(request);
    process.stderr.write(reply.kind === 'done' ? 'done\n' : 'failed\n');
    if (reply.kind === 'done') return reply.result;
    failures.push({ name, message: reply.message });
    return null;
  };
  const results: VariantResult[] = [];
  for (const variant of chosenVariants(options, isPlainStep)) {
    const result = await measured({ ...common, variant });
    if (result) results.push(result);
  }
  const count = options.curve === undefined ? 0 : positive('--curve', options.curve);
  const within = (budget: number | null) => measured({ ...common, variant: budgetSetting(budget) });
  const swept = count === 0 ? [] : await sweepBudgets(count, within);
  return { results: [...results, ...swept], swept, failures };
}

function printComparison({ results, curve, problems }: Comparison): void {
  const columns = process.stdout.columns ?? 132;
  const baseline = results.find(({ name }) => name === 'eager');
  for (const group of new Set(results.map((variant) => variant.group))) {
    const members = results.filter((variant) => variant.group === group);
    process.stdout.write(`${group}\n${printTable(variantsTable(members, baseline), columns)}\n\n`);
  }
  if (curve.length > 0) process.stdout.write(`curve\n${printTable(curveTable(curve))}\n\n`);
  for (const problem of problems) process.stdout.write(`failed: ${problem}\n`);
}

/** Writes the files that `--json` and `--html` name. */
function writeComparison(
  file: string,
  { json, html, device, size }: CompareOptions,
  { results, curve, problems }: Comparison,
): void {
  if (json) writeOutput(json, `${JSON.stringify({ file, results, curve, problems })}\n`);
  if (!html) return;
  const facts = [
    ['workload', basename(file)],
    ['device', device],
    ['size', size],
    ['Node', process.version],
    ['CPU numerics', describeNumerics()],
  ] as const;
  const title = basename(file).replace(/\.[^.]*$/, '');
  const hasCurve = curve.length > 0;
  writeOutput(html, renderComparison({ title, facts, results, problems, hasCurve }));
}

/** Prints each error once: a step that throws does so in every mode. */
function eachOnce(
  failures: readonly { readonly name: string; readonly message: string }[],
): string {
  const errors = new Set(failures.map(({ message }) => message.replace(/\n +at [^:][\s\S]*/, '')));
  // In a captured step, the stack contains the user's frames.
  if (errors.size === 1) return failures.at(-1)!.message;
  return failures.map(({ name, message }) => `${name}: ${message}`).join('\n');
}

/**
 * Measures a whole step without a budget, with smaller and smaller budgets, and with the smallest feasible one. Skips
 * budgets that the previous plan fits as well.
 */
async function sweepBudgets(
  count: number,
  within: (budget: number | null) => Promise<VariantResult | null>,
): Promise<VariantResult[]> {
  const beside = ({ peakAllocated, held }: VariantResult) => peakAllocated - held;
  const [none, floor] = [await within(null), await within(0)];
  if (!none || !floor) return [];
  const between: VariantResult[] = [];
  for (const budget of budgetsBetween(beside(none), beside(floor), count)) {
    if (beside(between.at(-1) ?? none) <= budget) continue;
    const result = await within(budget);
    if (result) between.push(result);
  }
  return [none, ...between, floor];
}

/** A plain step creates its own batches, and its loss and breaks can't be separated. */
function expectForStep(file: string, options: CompareOptions): void {
  const { batch, fallback, dynamic, minGraphSize } = options;
  const option = Object.entries({ batch, fallback, dynamic, minGraphSize }).find(
    ([, value]) => value !== undefined,
  );
  if (!option) return;
  const [name, value] = option;
  throw new ArgumentError({
    what: `compare: an option that needs a workload`,
    given: `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${value}, and ${file} exports a plain step`,
    expected: 'export const workload = { build({ device, size, breaks }) { … } }',
    remedy: 'leave the option out, or let build() return loss, step, inputs, optimizer and dispose',
  });
}

function chosenVariants(options: CompareOptions, isPlainStep: boolean): (string | Setting)[] {
  const settings = settingsOf(options);
  if (options.curve !== undefined && settings.length === 0 && options.modes === undefined) {
    return ['eager', isPlainStep ? 'static' : 'full'];
  }
  if (settings.length > 0) return ['eager', ...settings];
  const modes = isPlainStep ? stepVariants : variants;
  const single = ablations.filter(({ needsLoss }) => !needsLoss || !isPlainStep);
  const known = [...modes, ...single].map(({ name }) => name);
  if (options.modes === undefined) return options.ablations ? known : modes.map(({ name }) => name);
  return options.modes.split(',').map((name) => {
    if (known.includes(name)) return name;
    throw new ArgumentError({
      what: 'compare: no such mode',
      given: `--modes ${name}`,
      expected: known.join(', '),
      remedy: 'list modes separated by commas',
    });
  });
}

function sizeOf(text: string): VariantRequest['size'] {
  if (text === 'reduced' || text === 'full') return text;
  throw new ArgumentError({
    what: 'compare: no such size',
    given: `--size ${text}`,
    expected: 'reduced, full',
    remedy: 'full sizes are meant for --device meta',
  });
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new ArgumentError({
    what: `compare: ${option} is not a count`,
    given: `${option} ${text}`,
    expected: 'an integer from 1',
    remedy: 'leave it out',
  });
}
