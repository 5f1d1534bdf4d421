/**
 * Run by tsx, so that the bytecode is that of the files as they are (a test runner rewrites imports).
 * Prints as JSON, per fixture named on the command line, every stage and the explanation.
 */

import { join } from 'node:path';
import '../../src/1-capture/inspector.ts';
import { Captured } from '../../src/dispatch/captured-function.ts';
import { explain } from '../../src/explain/explain.ts';
import { printStages } from '../../src/explain/print-stages.ts';

interface Fixture {
  run(...args: unknown[]): unknown;
  inputs(): unknown[];
}

const root = join(import.meta.dirname, '../../');
const printed: Record<string, string> = {};
for (const name of process.argv.slice(2)) {
  const { run, inputs } = (await import(`./fixtures/${name}.ts`)) as Fixture;
  const captured = new Captured(run, {});
  captured.call(undefined, inputs());
  await captured.ready();
  captured.call(undefined, inputs());
  const stages = printStages(captured.code!.closure.code, captured.parts).map(
    ({ title, text }) => `── ${title} ──\n${text.trimEnd()}\n`,
  );
  const explanation = explain(captured).replaceAll(root, '');
  printed[name] = [...stages, `── explain ──\n${explanation}`].join('\n');
}
console.log(JSON.stringify(printed));
